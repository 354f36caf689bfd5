//! What a program gets whose environment asks for instructions that no processor has.

use std::process::Command;

use thickset_engine::layer::Relu;
use thickset_engine::{
    DType, Error, Init, NetworkBuilder, ParameterSource, Result, Role, Tensor, kernel,
};

const VARIABLE: &str = "THICKSET_INSTRUCTIONS";

struct NoParameters;

impl ParameterSource for NoParameters {
    fn values(&mut self, name: &str, _: &[usize], _: Init, _: Role) -> Result<Tensor<2>> {
        Err(Error::MissingTensor {
            name: name.to_owned(),
        })
    }

    fn dtype(&self) -> DType {
        DType::F32
    }
}

#[test]
fn a_network_is_refused_and_nothing_panics() {
    if std::env::var_os(VARIABLE).is_none_or(|name| name != "mmx") {
        // Once more, in a process with that environment.
        let again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_network_is_refused_and_nothing_panics"])
            .env(VARIABLE, "mmx")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&again.stdout);
        assert!(
            again.status.success() && said.contains("1 passed"),
            "{said}"
        );
        return;
    }
    let mut source = NoParameters;
    let mut builder = NetworkBuilder::new(3, &mut source);
    builder.then(|_| Ok(Relu)).unwrap();
    let error = builder.finish().unwrap_err();
    assert!(matches!(&error, Error::Instructions { got, .. } if got == "mmx"));
    assert!(
        error.to_string().contains("`portable`; got `mmx`"),
        "{error}"
    );
    // Whoever asks all the same gets instructions that the processor has.
    assert_ne!(kernel::instructions().to_string(), "mmx");
}
