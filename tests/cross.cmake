# What of the tests is not run for another CPU, and why: each folder that is left out
# is a test that is skipped, so that the totals name it.
function(leave_out part reason)
	list(REMOVE_ITEM parts ${part}) # if it is a folder
	set(parts ${parts} PARENT_SCOPE)
	add_test(NAME ${part} COMMAND ${CMAKE_COMMAND} -E echo "${reason}")
	set_tests_properties(${part} PROPERTIES SKIP_REGULAR_EXPRESSION ".")
endfunction()

leave_out(disturb "its driver steps x86-64 code")
leave_out(headers "this machine's build compiles them with the cross compilers")
leave_out(platforms "musl is of this machine, and so are the compilers that refuse")
leave_out(tsan "ThreadSanitizer does not run under qemu-user")
leave_out(codegen "this machine's build reads the listings of the cross compilers")
leave_out(lint "it reads sources, which are the same for every CPU")
leave_out(install "it builds programs for this machine")
leave_out(cli "its scripts start the command by themselves, without an emulator")
leave_out(program "it builds programs for this machine")
leave_out(mutants "it compiles locks for this machine")
leave_out(profile "its scripts start programs by themselves, without an emulator")
leave_out(abi "it describes this machine's libpawl.so")
leave_out(rust "there is no cross compiler of Rust here")
leave_out(man "the manual is the same for every CPU")
