# haprt-cuda: needs nvcc, cuBLASLt, NCCL, cuDNN and cudnn-frontend. Headers and libraries are looked
# for in the toolkit, in .deps/cuda (script/bootstrap --cuda: headers of NVIDIA's PyPI packages) and in
# the packages of the python3 in PATH. Without the headers it is off; without the libraries it is
# compiled and nothing is linked (HAP_CUDA_LINKS is false).
set(HAP_CUDA_LINKS FALSE)
if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES "80-real;86-real;89-real;90a-real" CACHE STRING "CUDA architectures")
endif()
find_package(CUDAToolkit QUIET)
execute_process(COMMAND python3 -c "import sysconfig; print(sysconfig.get_path('purelib'))"
                OUTPUT_VARIABLE site OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(hints "")
foreach(root ${PROJECT_SOURCE_DIR}/.deps/cuda ${site} ${site}/nvidia)
    foreach(package cu13 cublas nccl cudnn)
        list(APPEND hints ${root}/nvidia/${package} ${root}/${package})
    endforeach()
    list(APPEND hints ${root})
endforeach()
set(missing "")
foreach(header cublasLt.h nccl.h cudnn.h cudnn_frontend.h)
    string(MAKE_C_IDENTIFIER HAP_HAS_${header} variable)
    find_path(${variable} ${header} HINTS ${hints} ${CUDAToolkit_INCLUDE_DIRS}
              PATH_SUFFIXES include)
    if(${variable})
        list(APPEND cuda_includes ${${variable}})
    else()
        list(APPEND missing ${header})
    endif()
endforeach()

if(NOT CUDAToolkit_FOUND)
    message(STATUS "runtime/cuda: off (no CUDA toolkit found)")
    return()
elseif(missing)
    list(JOIN missing " " missing)
    message(STATUS "runtime/cuda: off (not found: ${missing}; script/bootstrap --cuda)")
    return()
endif()
enable_language(CXX)
enable_language(CUDA)
list(REMOVE_DUPLICATES cuda_includes)
# The headers of generated kernels as text, for NVRTC.
set(cuda_headers ${CMAKE_CURRENT_BINARY_DIR}/cuda_headers.c)
set(texts "")
foreach(file kernels.cuh elements.cuh formulas.cuh pointwise.h fusion_args.h)
    list(APPEND texts ${include_dir}/hap/${file})
endforeach()
add_custom_command(OUTPUT ${cuda_headers}
    COMMAND ${CMAKE_COMMAND} "-DOUT=${cuda_headers}" "-DFILES=${texts}"
            -P ${CMAKE_CURRENT_SOURCE_DIR}/cuda/embed.cmake
    DEPENDS ${texts} ${CMAKE_CURRENT_SOURCE_DIR}/cuda/embed.cmake VERBATIM)
list(APPEND cuda_includes ${CUDAToolkit_INCLUDE_DIRS})
# Tile kernels of mma.sync are the same for sm_80, 86 and 89, which run code of sm_80, and take long.
set(mma_sources ${cuda_sources})
list(FILTER mma_sources INCLUDE REGEX /tile_mma_)
list(REMOVE_ITEM cuda_sources ${mma_sources})
set(mma_architectures ${CMAKE_CUDA_ARCHITECTURES})
if("80-real" IN_LIST mma_architectures)
    list(REMOVE_ITEM mma_architectures 86-real 89-real)
endif()
add_library(haprt-cuda-mma OBJECT ${mma_sources})
add_dependencies(haprt-cuda-mma hap_generated)
target_include_directories(haprt-cuda-mma PRIVATE ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}
                           ${include_dir})
set_target_properties(haprt-cuda-mma PROPERTIES CUDA_ARCHITECTURES "${mma_architectures}")
haprt_library(haprt-cuda ${core_sources} ${cuda_sources} ${cuda_headers}
              $<TARGET_OBJECTS:haprt-cuda-mma>)
target_link_libraries(haprt-cuda PRIVATE MPI::MPI_C)
target_include_directories(haprt-cuda-mma SYSTEM PRIVATE ${cuda_includes})
target_include_directories(haprt-cuda SYSTEM PUBLIC "$<BUILD_INTERFACE:${cuda_includes}>")
foreach(target haprt-cuda haprt-cuda-mma)
    target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CUDA>:--expt-extended-lambda -Xcompiler=-Wall>)
    set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
endforeach()
list(JOIN CMAKE_CUDA_ARCHITECTURES ", " architectures)
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/cuda/device/cuda_image.cu PROPERTIES
    COMPILE_DEFINITIONS "HAP_CUDA_ARCHITECTURES=\"${architectures}\"")
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/cuda/kernels/cuda_cudnn.cpp PROPERTIES
    COMPILE_OPTIONS "-O1") # host code of a large header
list(APPEND haprt_targets haprt-cuda)

find_library(HAP_CUBLASLT NAMES libcublasLt.so.13 libcublasLt.so.12 cublasLt HINTS ${hints}
             ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)
find_library(HAP_NCCL NAMES libnccl.so.2 nccl HINTS ${hints} PATH_SUFFIXES lib)
find_library(HAP_CUDNN NAMES libcudnn.so.9 cudnn HINTS ${hints} PATH_SUFFIXES lib)
find_library(HAP_CUDART cudart_static HINTS ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib64 lib)
if(NOT HAP_CUBLASLT OR NOT HAP_NCCL OR NOT HAP_CUDART)
    message(STATUS "runtime/cuda: compiled, not linked (no libraries of cuBLASLt or NCCL)")
    return()
endif()
set(HAP_CUDA_LINKS TRUE)
set(HAP_CUDA_LINKS TRUE PARENT_SCOPE)
set(cuda_flags "${HAP_CUBLASLT} ${HAP_NCCL} ${HAP_CUDART} -lstdc++ -ldl -lrt")
set(cuda_rpath "")
foreach(library ${HAP_CUBLASLT} ${HAP_NCCL} ${HAP_CUDNN}) # libcudnn is loaded when a program runs
    if(library)
        cmake_path(GET library PARENT_PATH folder)
        list(APPEND cuda_rpath ${folder})
        string(APPEND cuda_flags " -Wl,-rpath,${folder}")
    endif()
endforeach()
separate_arguments(cuda_link UNIX_COMMAND "${cuda_flags}")
target_link_libraries(haprt-cuda INTERFACE ${cuda_link})
message(STATUS "runtime/cuda: on (${HAP_CUBLASLT}, ${HAP_NCCL}, cuDNN ${HAP_CUDNN})")
