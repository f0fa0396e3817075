# Writes page_assets.c: the page's style sheet and scripts, byte by byte.
#   cmake -D OUT=page_assets.c -D DIR=emit/page -P embed.cmake
set(scripts base words verdict stages devices timeline measured model start) # in the order they run
set(js "")
foreach(name IN LISTS scripts)
    file(READ ${DIR}/${name}.js text HEX)
    string(APPEND js ${text})
endforeach()
file(READ ${DIR}/page.css css HEX)
function(bytes_of hex out)
    string(REGEX REPLACE "(..)" "0x\\1," text "${hex}")
    string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" text "${text}")
    set(${out} "${text}" PARENT_SCOPE)
endfunction()
bytes_of("${css}" css)
bytes_of("${js}" js)
file(WRITE ${OUT} "#include \"emit/page_assets.h\"\n\n"
     "const unsigned char page_css[] = {\n${css}0};\n"
     "const unsigned char page_js[] = {\n${js}0};\n")
