# Builds for another CPU, CMAKE_SYSTEM_PROCESSOR, with Debian's cross compiler and
# the libraries that scripts/cross-root unpacked into PAWL_ROOT; tests run under the
# emulator beside them. The presets aarch64 and riscv64 set both.
set(CMAKE_SYSTEM_NAME Linux)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_SYSTEM_PROCESSOR PAWL_ROOT)
set(triple ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_C_COMPILER ${triple}-gcc)
set(CMAKE_CXX_COMPILER ${triple}-g++)
set(CMAKE_SYSROOT ${PAWL_ROOT})
# Before the cross compiler's own libc, which may be too old for the other libraries.
foreach(kind EXE SHARED MODULE)
	set(CMAKE_${kind}_LINKER_FLAGS_INIT -L${PAWL_ROOT}/usr/lib/${triple})
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR ${PAWL_ROOT}/emulator -L ${PAWL_ROOT})
# What pkg-config is to find, and where that is.
set(ENV{PKG_CONFIG_LIBDIR} ${PAWL_ROOT}/usr/lib/${triple}/pkgconfig:${PAWL_ROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${PAWL_ROOT})
# The compiler looks there by itself, after its own libc's.
set(ENV{PKG_CONFIG_SYSTEM_INCLUDE_PATH} ${PAWL_ROOT}/usr/include)
