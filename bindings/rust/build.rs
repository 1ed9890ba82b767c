// SPDX-License-Identifier: MIT
//! Links libpawl: from PAWL_LIB_DIR if that is set, else from where the linker looks.
fn main() {
    println!("cargo:rerun-if-env-changed=PAWL_LIB_DIR");
    println!("cargo:rustc-link-lib=pawl");
    if let Ok(dir) = std::env::var("PAWL_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", dir);
    }
}
