# pawl_add_check(NAME source...): a test that runs `pawl check --program` on the given
# sources under weak, tso and sc; needs enable_testing(). Flags and include directories
# are those of a target NAME, as with add_library.
function(pawl_add_check name)
	if(NOT PAWL_COMMAND)
		message(FATAL_ERROR "pawl_add_check: the command pawl was not installed with the library")
	endif()
	execute_process(COMMAND ${PAWL_COMMAND} check --cflags
		OUTPUT_VARIABLE compile OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
	execute_process(COMMAND ${PAWL_COMMAND} check --libs
		OUTPUT_VARIABLE link OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
	separate_arguments(compile)
	separate_arguments(link)
	list(REMOVE_ITEM link -shared) # a module is
	if(CMAKE_C_COMPILER_ID MATCHES Clang OR CMAKE_CXX_COMPILER_ID MATCHES Clang)
		list(REMOVE_ITEM compile -Wno-tsan)
	endif()
	add_library(${name} MODULE ${ARGN})
	target_compile_options(${name} PRIVATE ${compile})
	target_link_options(${name} PRIVATE ${link})
	foreach(model weak tso sc)
		add_test(NAME ${name}.${model}
			COMMAND ${PAWL_COMMAND} check --program $<TARGET_FILE:${name}> --model ${model})
	endforeach()
endfunction()
