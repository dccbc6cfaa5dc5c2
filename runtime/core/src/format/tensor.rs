//! Checks and reads a tensor of a program.

use super::{c_string, device, index, invalid};
use crate::ir::{ByteRange, Device, Place, PlannedBuffer, Storage, Tensor};
use executorch_abi::error::ET_ERROR_NOT_SUPPORTED;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Dtype, Error, Result};
use executorch_schema::program as fb;

/// What tensors are checked against.
pub struct Context<'a> {
    /// The program's constants.
    pub constants: &'a [ByteRange],
    /// The program's initial values of mutable tensors.
    pub mutable_data: &'a [ByteRange],
    /// The method's planned buffers.
    pub buffers: &'a [PlannedBuffer],
}

impl Context<'_> {
    /// Checks and reads a tensor.
    pub fn read(&self, table: fb::Tensor<'_>) -> Result<Tensor> {
        let raw = table.scalar_type().0;
        let dtype = Dtype::from_raw(raw).ok_or_else(|| invalid(format!("{raw} is no element type")))?;
        if table.storage_offset() != 0 {
            return Err(Error::new(
                ET_ERROR_NOT_SUPPORTED,
                format!("the tensor has the storage offset {}, only 0 is supported", table.storage_offset()),
            ));
        }
        let sizes: Vec<i32> = table.sizes().map(|s| s.iter().collect()).unwrap_or_default();
        let dim_order: Vec<u8> = table.dim_order().map(|d| d.iter().collect()).unwrap_or_default();
        let (strides, numel) = shape(&sizes, &dim_order)?;
        let nbytes = numel
            .checked_mul(dtype.size() as u64)
            .filter(|&n| n <= isize::MAX as u64)
            .ok_or_else(|| invalid(format!("a tensor of sizes {sizes:?} and {dtype} overflows")))?;
        let is_dynamic = match table.shape_dynamism() {
            fb::TensorShapeDynamism::STATIC => false,
            fb::TensorShapeDynamism::DYNAMIC_BOUND => true,
            other => {
                return Err(Error::new(
                    ET_ERROR_NOT_SUPPORTED,
                    format!(
                        "the tensor's shape is unbounded (dynamism {}); export with an upper bound for every dynamic \
                         dimension (ConstraintBasedSymShapeEvalPass)",
                        other.0
                    ),
                ));
            }
        };
        let extra = table.extra_tensor_info();
        let name = match extra.and_then(|e| e.fully_qualified_name()) {
            Some(name) => Some(c_string(name, "a tensor's name")?),
            None => None,
        };
        let device = match extra {
            Some(extra) => device(extra.device_type(), extra.device_index())?,
            None => Device::HOST,
        };
        let mut tensor = Tensor {
            dtype,
            sizes,
            dim_order,
            strides,
            is_dynamic,
            numel,
            nbytes,
            storage: Storage::Unbound,
            name,
            device,
        };
        tensor.storage = self.storage(table, &tensor)?;
        // Where the memory is tells where the data is, not what the exporter calls it: it labels tensors for a delegate's
        // device also if it was told to plan host memory for them.
        tensor.device = match tensor.storage {
            Storage::Unbound => tensor.device,
            Storage::Constant { .. } | Storage::External => Device::HOST,
            Storage::Planned(place)
            | Storage::PlannedInitial { place, .. }
            | Storage::PlannedExternal(place) => {
                self.buffers.get(place.buffer as usize).map_or(Device::HOST, |b| b.device)
            }
        };
        Ok(tensor)
    }

    fn storage(&self, table: fb::Tensor<'_>, tensor: &Tensor) -> Result<Storage> {
        let place = match table.allocation_info() {
            Some(details) => Some(self.place(details, tensor.nbytes)?),
            None => None,
        };
        let location = table.extra_tensor_info().map_or(fb::TensorDataLocation::SEGMENT, |e| e.location());
        if location == fb::TensorDataLocation::EXTERNAL {
            if tensor.name.is_none() {
                return Err(invalid("an external tensor has no name to look it up by"));
            }
            return Ok(place.map_or(Storage::External, Storage::PlannedExternal));
        }
        if location != fb::TensorDataLocation::SEGMENT {
            return Err(invalid(format!("{} is no location of tensor data", location.0)));
        }
        match (table.data_buffer_idx(), place) {
            (0, None) => Ok(Storage::Unbound),
            (0, Some(place)) => Ok(Storage::Planned(place)),
            (data, None) => {
                let index = self.data(self.constants, data, tensor.nbytes, "constant")?;
                Ok(Storage::Constant { index })
            }
            (data, Some(place)) => {
                let index = self.data(self.mutable_data, data, tensor.nbytes, "initial value")?;
                Ok(Storage::PlannedInitial { place, index })
            }
        }
    }

    fn data(&self, ranges: &[ByteRange], found: u32, nbytes: u64, what: &str) -> Result<u32> {
        let index = index(i64::from(found), ranges.len(), what)?;
        let size = ranges.get(index as usize).map_or(0, |r| r.size);
        if nbytes > size {
            return Err(invalid(format!("the tensor needs {nbytes} bytes, but {what} {index} has {size}")));
        }
        Ok(index)
    }

    fn place(&self, details: fb::AllocationDetails<'_>, nbytes: u64) -> Result<Place> {
        let id = details.memory_id();
        let offset = u64::from(details.memory_offset_high()) << 32 | u64::from(details.memory_offset_low());
        // Buffer numbers count from 1 in the file.
        let buffer = index(i64::from(id) - 1, self.buffers.len(), "planned buffer (counted from 0)")?;
        let size = self.buffers.get(buffer as usize).map_or(0, |b| b.size);
        if offset.checked_add(nbytes).is_none_or(|end| end > size) {
            return Err(invalid(format!(
                "the tensor lies at {offset} of planned buffer {buffer} and needs {nbytes} bytes, but the buffer has {size}"
            )));
        }
        Ok(Place { buffer, offset })
    }
}

/// The dense strides and the number of elements of a shape.
pub fn shape(sizes: &[i32], dim_order: &[u8]) -> Result<(Vec<i32>, u64)> {
    if sizes.len() > ET_MAX_RANK {
        return Err(invalid(format!(
            "the tensor has {} dimensions, at most {ET_MAX_RANK} are allowed",
            sizes.len()
        )));
    }
    let mut strides = vec![0; sizes.len()];
    let numel = dense_strides(sizes, dim_order, &mut strides)?;
    Ok((strides, numel))
}

/// Writes the dense strides of a shape and returns its number of elements. All slices have the shape's rank.
pub fn dense_strides(sizes: &[i32], dim_order: &[u8], strides: &mut [i32]) -> Result<u64> {
    if dim_order.len() != sizes.len() || strides.len() != sizes.len() {
        return Err(invalid(format!("{} sizes but a dim order of {}", sizes.len(), dim_order.len())));
    }
    let mut numel = 1_u64;
    for &size in sizes {
        let size =
            u64::try_from(size).map_err(|_| invalid(format!("the sizes {sizes:?} have a negative one")))?;
        numel =
            numel.checked_mul(size).ok_or_else(|| invalid(format!("the product of {sizes:?} overflows")))?;
    }
    let mut seen = 0_u32;
    let mut stride = 1_i64;
    for &dim in dim_order.iter().rev() {
        let (Some(slot), Some(&size)) = (strides.get_mut(usize::from(dim)), sizes.get(usize::from(dim)))
        else {
            return Err(invalid(format!(
                "the dim order {dim_order:?} names a dimension that does not exist"
            )));
        };
        // Ranks are at most 16, so the bit exists.
        if seen & (1 << dim) != 0 {
            return Err(invalid(format!("the dim order {dim_order:?} is no permutation")));
        }
        seen |= 1 << dim;
        // A zero size keeps the stride, as PyTorch does.
        *slot = i32::try_from(stride)
            .map_err(|_| invalid(format!("a stride of {sizes:?} does not fit 32 bits")))?;
        stride = stride.saturating_mul(i64::from(size.max(1)));
    }
    Ok(numel)
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn strides_follow_the_dim_order() {
        assert_eq!(shape(&[2, 3, 4, 5], &[0, 1, 2, 3]).unwrap(), (vec![60, 20, 5, 1], 120));
        assert_eq!(shape(&[2, 3, 4, 5], &[0, 2, 3, 1]).unwrap(), (vec![60, 1, 15, 3], 120));
        assert_eq!(shape(&[], &[]).unwrap(), (vec![], 1));
        assert_eq!(shape(&[2, 0, 4], &[0, 1, 2]).unwrap(), (vec![4, 4, 1], 0));
    }

    #[test]
    fn hostile_shapes_are_refused() {
        assert!(shape(&[2, 2], &[0, 0]).is_err());
        assert!(shape(&[2, 2], &[0, 2]).is_err());
        assert!(shape(&[2, 2], &[0]).is_err());
        assert!(shape(&[-1], &[0]).is_err());
        assert!(shape(&[i32::MAX; 4], &[0, 1, 2, 3]).is_err());
        assert!(shape(&[1; 17], &[0; 17]).is_err());
        assert!(shape(&[1], &[255]).is_err());
    }
}
