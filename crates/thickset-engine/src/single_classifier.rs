//! The classifier of single inputs that may go with a network of pairs: the network's embedding, then a linear layer of its own.
//!
//! It is no part of the network's logits and is not trained with it. It goes wherever the network goes, and into its file.

use crate::layer::{Cosine, Layer as _, Linear, PairSplit};
use crate::network::{Network, Node, Source};
use crate::parameter::{Parameter, ParameterSource, Scope};
use crate::{Error, Result};

/// The prefix of its own parameters' names in files.
const PREFIX: &str = "single";

impl Network {
    /// The classifier of single inputs that goes with a network of pairs, if it has one.
    #[must_use]
    pub fn single_classifier(&self) -> Option<&Self> {
        self.single.as_deref()
    }

    /// The embedding of a network of pairs, as a network of single inputs: the layers between its pair split and its comparison.
    /// None for any other network.
    #[must_use]
    pub fn embedding(&self) -> Option<Self> {
        let (first, rest) = self.nodes.split_first()?;
        if first.layer.kind() != PairSplit.kind() {
            return None;
        }
        let end = rest
            .iter()
            .position(|node| node.layer.kind() == Cosine.kind())?;
        let shifted = |source: &Source| match source {
            Source::Input | Source::Layer(0) => Source::Input,
            Source::Layer(place) => Source::Layer(place - 1),
        };
        let nodes: Vec<Node> = rest[..end]
            .iter()
            .map(|node| Node {
                inputs: node.inputs.iter().map(shifted).collect(),
                ..node.clone()
            })
            .collect();
        Some(Self {
            nodes,
            features: self.features() / 2,
            dtype: self.dtype(),
            single: None,
        })
    }

    /// Gives a network of pairs a classifier of single inputs: its embedding as it is now, and a linear layer of so many classes whose
    /// weight and bias come from `source`.
    ///
    /// # Errors
    /// If it is no network of pairs, or the source cannot provide them.
    pub fn attach_single_classifier(
        &mut self,
        classes: usize,
        source: &mut dyn ParameterSource,
    ) -> Result<()> {
        let Some(mut single) = self
            .embedding()
            .filter(|embedding| !embedding.nodes.is_empty())
        else {
            return Err(Error::NotOfPairs);
        };
        single.untrack();
        let last = single.nodes.len() - 1;
        let head = Linear::new(
            single.classes(),
            classes,
            &mut Scope {
                source,
                prefix: PREFIX.to_owned(),
            },
        )?;
        single.nodes.push(Node {
            layer: Box::new(head),
            inputs: vec![Source::Layer(last)],
            features: classes,
        });
        self.single = Some(Box::new(single));
        Ok(())
    }

    /// What of the classifier of single inputs is not the network's own.
    pub(crate) fn single_parameters(&self) -> Vec<&Parameter> {
        let head = self.single.as_ref().and_then(|single| single.nodes.last());
        head.map_or_else(Vec::new, |node| node.layer.parameters())
    }
}

#[cfg(test)]
mod tests {
    use crate::tensor::{DType, Device, Tensor, TensorData};

    use super::*;
    use crate::{Init, NetworkBuilder, Role, StoredModel};

    /// Every weight is 1, 2, 3, … in order.
    struct Counted;

    impl ParameterSource for Counted {
        fn values(&mut self, _: &str, shape: &[usize], _: Init, _: Role) -> Result<Tensor<2>> {
            let size = Parameter::matrix_size(shape);
            let count = u8::try_from(size[0] * size[1]).expect("few");
            let values: Vec<f64> = (1..=count).map(f64::from).collect();
            Ok(Tensor::from_data(
                TensorData::new(values, size),
                (&Device::cpu(), DType::F64),
            ))
        }

        fn dtype(&self) -> DType {
            DType::F64
        }
    }

    fn pairs() -> Network {
        let mut source = Counted;
        let mut builder = NetworkBuilder::new(4, &mut source);
        builder.then(|_| Ok(PairSplit)).unwrap();
        builder.then(|scope| Linear::new(2, 2, scope)).unwrap();
        builder.then(|_| Ok(Cosine)).unwrap();
        builder.then(|scope| Linear::new(1, 2, scope)).unwrap();
        builder.finish().unwrap()
    }

    fn numbers(tensor: &Tensor<2>) -> Vec<f64> {
        tensor.to_data().iter::<f64>().collect()
    }

    #[test]
    fn it_classifies_the_embedding_and_the_pair_is_as_before() {
        let plain = pairs();
        let mut network = plain.clone();
        network.attach_single_classifier(3, &mut Counted).unwrap();
        let single = network.single_classifier().unwrap();
        // emb(1, 1) = (1 + 2 + 1, 3 + 4 + 2) = (4, 9); rows (1 2), (3 4), (5 6) and biases 1, 2, 3 of the head.
        let logits = single.logits(single.batch(&[1.0, 1.0]));
        assert_eq!(numbers(&logits), [23.0, 50.0, 77.0]);
        let row = plain.batch(&[1.0, 1.0, 2.0, -1.0]);
        assert_eq!(
            numbers(&network.logits(row.clone())),
            numbers(&plain.logits(row))
        );
        assert_eq!(network.parameters().len(), plain.parameters().len());
    }

    #[test]
    fn it_goes_into_the_file_and_comes_back() {
        let mut network = pairs();
        network.attach_single_classifier(3, &mut Counted).unwrap();
        let stored = StoredModel::parse(&network.to_file("{}")).unwrap();
        let names: Vec<&str> = stored.names().collect();
        assert!(
            names.contains(&"single.weight") && names.contains(&"single.bias"),
            "{names:?}"
        );
        let mut stored = stored;
        let mut back = pairs();
        back.attach_single_classifier(3, &mut stored).unwrap();
        let of = |network: &Network| {
            let single = network.single_classifier().unwrap();
            numbers(&single.logits(single.batch(&[0.5, -1.0])))
        };
        assert_eq!(of(&back), of(&network));
    }

    #[test]
    fn other_weights_need_another_classifier_and_other_networks_have_none() {
        let mut network = pairs();
        network.attach_single_classifier(3, &mut Counted).unwrap();
        let values = network.parameter_values();
        network.set_parameter_values(&values).unwrap();
        assert!(network.single_classifier().is_none());
        let mut source = Counted;
        let mut builder = NetworkBuilder::new(2, &mut source);
        builder.then(|scope| Linear::new(2, 2, scope)).unwrap();
        let mut plain = builder.finish().unwrap();
        assert!(plain.embedding().is_none());
        let refused = plain.attach_single_classifier(2, &mut Counted);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "expected a network of pairs, which embeds both inputs and compares them"
        );
    }
}
