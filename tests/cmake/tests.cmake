# The functions that the folders of tests/ call:
#
#   hap_check_test(json_test LIBS hap_base)                     json_test.c, a libcheck program
#   hap_mpi_test(coll_test NRANKS 1 2 4 LIBS haprt-cpu)         coll_test.c under mpirun: coll_test.np1 …
#   hap_blas_test(op_cuts_test)                                 again, with other kernels of OpenBLAS
#   hap_fuzz_test(fuzz_json SEEDS tests/seeds/json LIBS hap_base)  fuzz_json.c, LLVMFuzzerTestOneInput
#   hap_script_test(layering COMMAND tests/house/layering.sh)   any command; exit 77 = skipped
#   hap_cuda_test(chains_cuda_test SOURCES …)                   a libcheck program on a device
#
# Each takes [LABEL unit] [TIMEOUT seconds] [ENV A=1 …] [ARGS …]; programs also [SOURCES a.c …], if
# they are not NAME.c alone, and [LIBS …]. All programs find tests/support (hap_test_support). Tests
# run in the repository root; HAP_BUILD names the build folder.
#
# NIGHTLY: left out of a plain run of ctest; script/nightly runs them (ctest -C nightly -L nightly).
#
# TIMEOUT stands where a test takes over 50 s on two quiet cores, and is at least six times that
# (script/test_costs); such tests start first. libcheck's own limits never bind: CK_TIMEOUT_MULTIPLIER.
set(HAP_TIMEOUT 600)
set(HAP_LABELS unit golden numeric multi fuzz-smoke gpu nightly)

set(HAP_TEST_ENV
    HAP_BUILD=${PROJECT_BINARY_DIR} HAPC_CACHE=${PROJECT_BINARY_DIR}/cache OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
    CK_TIMEOUT_MULTIPLIER=100
    # libyaml, GLPK and libcheck are leak-clean; Open MPI is not.
    UBSAN_OPTIONS=print_stacktrace=1)
set(HAP_MPI_ENV
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_btl_vader_single_copy_mechanism=none # containers forbid process_vm_readv
    OMPI_MCA_mpi_yield_when_idle=1 ASAN_OPTIONS=detect_leaks=0)
set(mpirun_flags "")
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE mpi_version ERROR_QUIET)
if(mpi_version MATCHES "Open MPI|OpenRTE")
    set(mpirun_flags --allow-run-as-root --oversubscribe)
endif()

# The arguments of all kinds of test, as T_* of the caller.
macro(hap_test_arguments name)
    cmake_parse_arguments(T "NIGHTLY" "LABEL;TIMEOUT;SEEDS" "LIBS;ENV;ARGS;SOURCES;NRANKS;COMMAND" ${ARGN})
    if(T_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "test ${name}: unknown argument ${T_UNPARSED_ARGUMENTS}")
    endif()
    set(when "")
    if(T_NIGHTLY)
        set(when CONFIGURATIONS nightly)
        set(T_LABEL nightly)
    endif()
endmacro()

# A program in BUILD/tests of T_SOURCES, or of NAME.c, and T_LIBS.
macro(hap_test_program name)
    if(NOT T_SOURCES)
        set(T_SOURCES ${name}.c)
    endif()
    add_executable(${name} ${T_SOURCES})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE hap_flags hap_headers hap_test_support ${T_LIBS} m)
endmacro()

# Label, timeout and environment. ARGN: further labels.
function(hap_test_properties name label)
    if(T_LABEL)
        set(label ${T_LABEL})
    endif()
    if(NOT label IN_LIST HAP_LABELS)
        message(FATAL_ERROR "test ${name}: no such label: ${label}")
    endif()
    set(timeout ${HAP_TIMEOUT})
    if(T_TIMEOUT)
        set(timeout ${T_TIMEOUT})
    endif()
    set(cost ${timeout})
    if(HAP_SANITIZE)
        math(EXPR timeout "${timeout} * 3")
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${label};${ARGN}" TIMEOUT ${timeout} COST ${cost}
        ENVIRONMENT "${HAP_TEST_ENV};${T_ENV}" SKIP_RETURN_CODE 77)
endfunction()

# What the sanitizers look at in script/test: C programs labelled unit or fuzz-smoke. They bear the
# label `sanitized` too, and the target sanitized_tests builds them.
function(hap_program_properties name label)
    set(also "")
    if(T_LABEL)
        set(label ${T_LABEL})
    endif()
    if(label MATCHES "^(unit|fuzz-smoke)$")
        set(also sanitized)
        set_property(GLOBAL APPEND PROPERTY HAP_SANITIZED ${name})
    endif()
    hap_test_properties(${name} ${label} ${also})
endfunction()

function(hap_check_test name)
    hap_test_arguments(${name} ${ARGN})
    hap_test_program(${name})
    target_link_libraries(${name} PRIVATE PkgConfig::CHECK)
    add_test(NAME ${name} COMMAND ${name} ${T_ARGS} ${when} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    hap_program_properties(${name} unit)
endfunction()

# `hap_add_ranks(NAME N PROGRAM)`: test NAME.npN, PROGRAM on N ranks.
macro(hap_add_ranks name n program)
    add_test(NAME ${name}.np${n}
             COMMAND ${MPIEXEC_EXECUTABLE} ${mpirun_flags} -n ${n} $<TARGET_FILE:${program}> ${T_ARGS}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endmacro()

function(hap_mpi_test name)
    hap_test_arguments(${name} ${ARGN})
    hap_test_program(${name})
    target_link_libraries(${name} PRIVATE MPI::MPI_C)
    list(APPEND T_ENV ${HAP_MPI_ENV})
    foreach(n IN LISTS T_NRANKS)
        hap_add_ranks(${name} ${n} ${name})
        hap_test_properties(${name}.np${n} multi)
        set_tests_properties(${name}.np${n} PROPERTIES PROCESSORS ${n})
    endforeach()
endfunction()

function(hap_script_test name)
    hap_test_arguments(${name} ${ARGN})
    list(APPEND T_ENV ${HAP_MPI_ENV})
    add_test(NAME ${name} COMMAND ${T_COMMAND} ${T_ARGS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    hap_test_properties(${name} golden)
endfunction()

# The same with OpenBLAS's kernels for other processors, where this one can run them: NAME.Haswell, …
function(hap_blas_test name)
    foreach(core Nehalem Haswell Zen SkylakeX)
        add_test(NAME ${name}.${core}
                 COMMAND tests/house/blas_kernels.sh ${core} $<TARGET_FILE:${name}>
                 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
        hap_test_properties(${name}.${core} numeric)
    endforeach()
endfunction()

# Preset fuzz builds it with libFuzzer; other builds feed mutations of the seeds through the same
# entry (support/fuzz_smoke_main.c).
function(hap_fuzz_test name)
    hap_test_arguments(${name} ${ARGN})
    list(PREPEND T_SOURCES ${name}.c)
    if(HAP_FUZZ)
        hap_test_program(${name})
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        add_test(NAME ${name} COMMAND ${name} -runs=2000 -artifact_prefix=${PROJECT_BINARY_DIR}/ ${T_SEEDS}
                 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    else()
        list(APPEND T_SOURCES ${PROJECT_SOURCE_DIR}/tests/support/fuzz_smoke_main.c)
        hap_test_program(${name})
        add_test(NAME ${name} COMMAND ${name} ${T_SEEDS} ${T_ARGS}
                 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    endif()
    hap_program_properties(${name} fuzz-smoke)
    if(NOT TARGET fuzzers)
        add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${name})
endfunction()

# The rest runs on a device: label gpu, one at a time, skipped where there is none. CUDA's state does
# not survive libcheck's fork.
function(hap_cuda_properties name)
    list(APPEND T_ENV ${HAP_MPI_ENV} CK_FORK=no)
    hap_test_properties(${name} gpu)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
endfunction()

macro(hap_cuda_program name)
    hap_test_program(${name})
    target_link_libraries(${name} PRIVATE hap_ir haprt-cuda MPI::MPI_C PkgConfig::CHECK)
    add_dependencies(cuda_tests ${name})
endmacro()

function(hap_cuda_test name)
    hap_test_arguments(${name} ${ARGN})
    hap_cuda_program(${name})
    add_test(NAME ${name} COMMAND ${name} ${T_ARGS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    hap_cuda_properties(${name})
endfunction()

function(hap_cuda_mpi_test name)
    hap_test_arguments(${name} ${ARGN})
    hap_cuda_program(${name})
    foreach(n IN LISTS T_NRANKS)
        hap_add_ranks(${name} ${n} ${name})
        hap_cuda_properties(${name}.np${n})
    endforeach()
endfunction()
