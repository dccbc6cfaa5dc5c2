//! What a delegate says of a payload: the document that `et_backend_t::describe` writes.

use serde::{Deserialize, Serialize};

/// A payload, node by node. Ids are the format's own; they need not be dense.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The payload's format, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// What is computed, in the order in which it runs.
    pub nodes: Vec<Node>,
    /// The tensors that the nodes pass on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
    /// About the payload as a whole, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A node of a payload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The kind of node, as the format names it.
    pub name: String,
    /// The ids of the values that it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<u32>,
    /// The ids of the values that it makes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<u32>,
    /// What runs it on this machine with these options.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub executor: String,
    /// Anything else, for people: `"kernel 3x3, stride 2"`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// A value of a payload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// Its id.
    pub id: u32,
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The element type, as [`Dtype::name`](crate::Dtype::name) spells it, or the format's own name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dtype: String,
    /// The sizes, upper bounds if the shape is dynamic; none if the payload does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<u64>>,
    /// What the payload uses it for.
    #[serde(default)]
    pub role: Role,
    /// Anything else, for people: `"per channel, axis 0"`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What a payload uses a value for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An argument of the call that is read.
    Input,
    /// An argument of the call that is written.
    Output,
    /// Data of the payload or of the program.
    Constant,
    /// Passed from node to node.
    #[default]
    Internal,
}
