//! Building a network layer by layer.

use super::{Network, Node, Source};
use crate::kernel::requested_instructions;
use crate::layer::{Form, Layer};
use crate::parameter::{ParameterSource, Scope};
use crate::{Error, Result};

/// Builds a network layer by layer, each layer checked against what it reads.
pub struct NetworkBuilder<'s> {
    source: &'s mut dyn ParameterSource,
    network: Network,
}

impl<'s> NetworkBuilder<'s> {
    /// A network over rows of `features`, whose parameters come from `source`.
    #[must_use]
    pub fn new(features: usize, source: &'s mut dyn ParameterSource) -> Self {
        let dtype = source.dtype();
        Self {
            source,
            network: Network {
                nodes: Vec::new(),
                features,
                dtype,
                single: None,
            },
        }
    }

    /// The latest layer, or the input before there is one.
    #[must_use]
    pub fn last(&self) -> Source {
        self.network
            .nodes
            .len()
            .checked_sub(1)
            .map_or(Source::Input, Source::Layer)
    }

    /// Features that a source gives.
    #[must_use]
    pub fn features(&self, source: Source) -> usize {
        match source {
            Source::Input => self.network.features,
            Source::Layer(place) => self.network.nodes[place].features,
        }
    }

    /// Adds a layer that reads the latest one.
    ///
    /// # Errors
    /// If the layer cannot be made or cannot read it.
    pub fn then<L: Layer + 'static>(
        &mut self,
        make: impl FnOnce(&mut Scope<'_>) -> Result<L>,
    ) -> Result<Source> {
        self.join(&[self.last()], make)
    }

    /// Adds a layer that reads the given ones.
    ///
    /// # Errors
    /// If the layer cannot be made or cannot read them.
    pub fn join<L: Layer + 'static>(
        &mut self,
        inputs: &[Source],
        make: impl FnOnce(&mut Scope<'_>) -> Result<L>,
    ) -> Result<Source> {
        let place = self.network.nodes.len();
        let layer = make(&mut Scope {
            source: &mut *self.source,
            prefix: format!("layers.{place}"),
        })?;
        self.add(inputs, Box::new(layer))
    }

    /// Adds the layer of a form, which reads the given ones.
    ///
    /// # Errors
    /// If the layer cannot be made or cannot read them.
    pub fn join_form(&mut self, inputs: &[Source], form: &Form) -> Result<Source> {
        let place = self.network.nodes.len();
        let layer = form.layer(&mut Scope {
            source: &mut *self.source,
            prefix: format!("layers.{place}"),
        })?;
        self.add(inputs, layer)
    }

    fn add(&mut self, inputs: &[Source], layer: Box<dyn Layer>) -> Result<Source> {
        let place = self.network.nodes.len();
        let got: Vec<_> = inputs.iter().map(|&input| self.features(input)).collect();
        let Some(features) = layer.out_features(&got) else {
            return Err(Error::Inputs {
                layer: place,
                kind: layer.kind(),
                got,
            });
        };
        self.network.nodes.push(Node {
            layer,
            inputs: inputs.to_vec(),
            features,
        });
        Ok(Source::Layer(place))
    }

    /// The finished network.
    ///
    /// # Errors
    /// If it has no layer, or if the environment asks for instructions that the processor does not have.
    pub fn finish(self) -> Result<Network> {
        requested_instructions()?;
        if self.network.nodes.is_empty() {
            return Err(Error::Size {
                name: "layers",
                most: usize::MAX,
                got: 0,
            });
        }
        Ok(self.network)
    }
}
