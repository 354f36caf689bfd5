//! What is recorded of operations, and the walk back over it.
//!
//! A recorded tensor holds a [`Node`]: its parents, and a function from the gradient in the tensor to the gradients in them.
//! Nodes are numbered as they are made, so a parent's number is smaller than its children's: walking from the largest number
//! down meets every node after all that read it, and the gradients of a tensor that several read are summed in one order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::array::Array;
use super::primitive::{Binary, binary};

/// Where a tensor stands on the tape; `None` for constants.
pub(crate) type Track = Option<Arc<Node>>;

type Backward = Box<dyn Fn(Array, &mut Parents<'_>) + Send + Sync>;

/// One recorded operation, or a tensor that gradients are asked for.
pub(crate) struct Node {
    number: u64,
    parents: Vec<Track>,
    /// `None` for what gradients are asked for.
    backward: Option<Backward>,
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);

fn next_number() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

impl Node {
    /// A tensor that gradients are asked for.
    pub(crate) fn leaf() -> Arc<Self> {
        Arc::new(Self {
            number: next_number(),
            parents: Vec::new(),
            backward: None,
        })
    }

    pub(crate) fn is_leaf(&self) -> bool {
        self.backward.is_none()
    }
}

/// Records an operation, where one of its parents is recorded: `backward` gets the gradient in the result and gives each parent
/// its own.
pub(crate) fn record(
    parents: Vec<Track>,
    backward: impl Fn(Array, &mut Parents<'_>) + Send + Sync + 'static,
) -> Track {
    parents.iter().any(Option::is_some).then(|| {
        Arc::new(Node {
            number: next_number(),
            parents,
            backward: Some(Box::new(backward)),
        })
    })
}

impl std::fmt::Debug for Node {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Node({})", self.number)
    }
}

impl Drop for Node {
    /// Drops what only this node held one by one: a chain of nodes that drop each other would need a stack as deep as the chain.
    fn drop(&mut self) {
        let mut held: Vec<Arc<Node>> = self.parents.drain(..).flatten().collect();
        while let Some(node) = held.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                held.extend(node.parents.drain(..).flatten());
            }
        }
    }
}

type Pending = BTreeMap<u64, (Arc<Node>, Array)>;

/// The parents of an operation, during the walk back.
pub(crate) struct Parents<'a> {
    parents: &'a [Track],
    pending: &'a mut Pending,
}

impl Parents<'_> {
    /// Whether the parent at this place has a use for its gradient.
    pub(crate) fn wants(&self, place: usize) -> bool {
        self.parents[place].is_some()
    }

    /// Adds to the gradient of the parent at this place; nothing happens where it is a constant.
    pub(crate) fn give(&mut self, place: usize, gradient: Array) {
        let Some(parent) = &self.parents[place] else {
            return;
        };
        let sum = match self.pending.remove(&parent.number) {
            Some((_, sum)) => binary(Binary::Add, sum, gradient),
            None => gradient,
        };
        let entry = (parent.clone(), sum);
        self.pending.insert(parent.number, entry);
    }
}

/// The gradients that one walk back has found, of the tensors that they were asked for.
#[derive(Debug, Default)]
pub struct Gradients(BTreeMap<u64, Array>);

impl Gradients {
    /// Walks back from `root`, whose gradient is `seed`.
    pub(crate) fn new(root: Track, seed: Array) -> Self {
        let mut found = BTreeMap::new();
        let mut pending: Pending = root
            .map(|root| (root.number, (root, seed)))
            .into_iter()
            .collect();
        while let Some((number, (node, gradient))) = pending.pop_last() {
            match &node.backward {
                None => {
                    found.insert(number, gradient);
                }
                Some(backward) => {
                    let parents = &node.parents;
                    backward(
                        gradient,
                        &mut Parents {
                            parents,
                            pending: &mut pending,
                        },
                    );
                }
            }
        }
        Self(found)
    }

    pub(crate) fn get(&self, node: &Node) -> Option<&Array> {
        self.0.get(&node.number)
    }

    pub(crate) fn remove(&mut self, node: &Node) -> Option<Array> {
        self.0.remove(&node.number)
    }

    pub(crate) fn replace(&mut self, node: &Node, gradient: Array) {
        self.0.insert(node.number, gradient);
    }
}
