//! FlatBuffers readers of ExecuTorch's file formats.
