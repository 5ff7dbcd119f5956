//! Tells the bindings for which Python they are compiled.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
