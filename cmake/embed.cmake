# pawl_embed(OUTPUT HEADER FILE...): generates a C source with each file as a string, so that
# the command finds them wherever it is installed: struct embedded embedded_files[], ended by
# one without a name, as HEADER declares it. It is made anew when one of them changes.
function(pawl_embed output header)
	set(texts "")
	set(rows "")
	set(number 0)
	foreach(path ${ARGN})
		set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
		get_filename_component(name ${path} NAME)
		file(READ ${path} bytes HEX)
		string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
		string(APPEND texts "static const char text_${number}[] = {${bytes}0};\n")
		string(APPEND rows "\t{\"${name}\", text_${number}},\n")
		math(EXPR number "${number} + 1")
	endforeach()
	file(GENERATE OUTPUT ${output} CONTENT
"#include \"${header}\"

#include <stddef.h>

${texts}
const struct embedded embedded_files[] = {
${rows}\t{NULL, NULL},
};
")
endfunction()
