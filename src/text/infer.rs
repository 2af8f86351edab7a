//! The shape of a result that the text leaves out (XLA `ShapeInference`; facts: grammar section 4).
//! Texts that a person wrote do so, printed ones never.

use super::number::{padding, sizes};
use super::reader::Reader;
use super::sharding::integers;
use crate::hlo::{
    ArrayShape, Attribute, AttributeName, Bound, CallRole, Dimension, ElementType, Opcode, Shape,
    ShapeId,
};
use smallvec::SmallVec;

type Dimensions = SmallVec<[Dimension; 4]>;

/// The shape of an instruction whose operands and attributes stand at the end of the frame's, if it
/// follows from them.
#[cold]
pub(super) fn infer(
    opcode: Opcode,
    operands_from: usize,
    attributes_from: usize,
    reader: &mut Reader<'_>,
) -> Option<ShapeId> {
    let operands: Vec<ShapeId> = reader
        .frame
        .operands
        .get(operands_from..)?
        .iter()
        .map(|&operand| Some(reader.own(operand)?.shape))
        .collect::<Option<_>>()?;
    let shape = {
        let attributes = reader.frame.attributes.get(attributes_from..)?;
        Inference { operands: &operands, attributes, reader }.result(opcode)?
    };
    Some(intern(shape, reader))
}

/// A shape that may be new.
enum Inferred {
    Known(ShapeId),
    Array(ElementType, Dimensions),
    Tuple(Vec<Inferred>),
}

fn intern(shape: Inferred, reader: &mut Reader<'_>) -> ShapeId {
    match shape {
        Inferred::Known(id) => id,
        Inferred::Array(element_type, dimensions) => {
            let array = ArrayShape { element_type, dimensions, layout: None };
            reader.shapes.intern(Shape::Array(array))
        }
        Inferred::Tuple(elements) => {
            let elements = elements.into_iter().map(|element| intern(element, reader)).collect();
            reader.shapes.intern(Shape::Tuple(elements))
        }
    }
}

struct Inference<'r, 'a> {
    operands: &'r [ShapeId],
    attributes: &'r [Attribute<'a>],
    reader: &'r Reader<'a>,
}

fn fixed(size: u64) -> Dimension {
    Dimension { size, bound: Bound::Static }
}

fn position(number: i64) -> Option<usize> {
    usize::try_from(number).ok()
}

impl Inference<'_, '_> {
    fn known(&self, operand: usize) -> Option<Inferred> {
        self.operands.get(operand).copied().map(Inferred::Known)
    }

    fn array(&self, operand: usize) -> Option<&ArrayShape> {
        self.reader.shapes.get(*self.operands.get(operand)?).array()
    }

    fn text(&self, name: AttributeName) -> Option<&str> {
        self.attributes.iter().find_map(|attribute| match attribute {
            Attribute::Other(found, text) if *found == name => Some(*text),
            _ => None,
        })
    }

    fn numbers(&self, name: AttributeName) -> Vec<i64> {
        let mut numbers = Vec::new();
        if let Some(text) = self.text(name)
            && integers(text, '{', '}', &mut numbers).is_err()
        {
            numbers.clear();
        }
        numbers
    }

    fn number(&self, name: AttributeName) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    /// The shape of the root of a called computation.
    fn root_of(&self, wanted: CallRole) -> Option<ShapeId> {
        let called = self.attributes.iter().find_map(|attribute| match attribute {
            Attribute::Calls(role, id) if *role == wanted => Some(*id),
            _ => None,
        })?;
        let computation = self.reader.computations.get(called.index())?;
        Some(self.reader.closed(computation.root)?.shape)
    }

    fn same_dimensions(&self, operand: usize, element_type: ElementType) -> Option<Inferred> {
        Some(Inferred::Array(element_type, self.array(operand)?.dimensions.clone()))
    }

    fn result(&self, opcode: Opcode) -> Option<Inferred> {
        use Opcode::*;
        let scalar = |element_type| Some(Inferred::Array(element_type, Dimensions::new()));
        match opcode {
            Abs | Real | Imag => self.real_part(),
            Complex => match self.array(0)?.element_type {
                ElementType::F64 => self.same_dimensions(0, ElementType::C128),
                _ => self.same_dimensions(0, ElementType::C64),
            },
            Compare | IsFinite => self.same_dimensions(0, ElementType::Pred),
            Select | Clamp | TriangularSolve => self.known(1),
            AfterAll => scalar(ElementType::Token),
            PartitionId | ReplicaId => scalar(ElementType::U32),
            GetDimensionSize => scalar(ElementType::S32),
            Tuple => {
                Some(Inferred::Tuple(self.operands.iter().copied().map(Inferred::Known).collect()))
            }
            GetTupleElement => self.tuple_element(),
            Call => self.root_of(CallRole::Body).map(Inferred::Known),
            Conditional => self.root_of(CallRole::Branch(0)).map(Inferred::Known),
            Scan => self.root_of(CallRole::Apply).map(Inferred::Known),
            Map => self.same_dimensions(0, self.root_type()?),
            Sort if self.operands.len() != 1 => self.result(Tuple),
            Scatter if self.operands.len() > 3 => {
                let arrays = self.operands.len() / 2;
                Some(Inferred::Tuple((0..arrays).filter_map(|at| self.known(at)).collect()))
            }
            Reduce => self.reduce(),
            ReduceWindow => self.reduce_window(),
            Broadcast => self.broadcast(),
            Transpose => self.transpose(),
            Concatenate => self.concatenate(),
            Pad => self.pad(),
            Dot | ScaledDot => self.dot(),
            RaggedDot => self.ragged_dot(),
            Convolution => self.convolution(),
            Fft => self.fft(),
            Gather => self.gather(),
            SetDimensionSize => self.set_dimension_size(),
            BatchNormTraining => {
                Some(Inferred::Tuple(vec![self.known(0)?, self.known(1)?, self.known(1)?]))
            }
            BatchNormGrad => {
                Some(Inferred::Tuple(vec![self.known(0)?, self.known(1)?, self.known(1)?]))
            }
            Topk => self.topk(),
            _ => self.known(0),
        }
    }

    fn real_part(&self) -> Option<Inferred> {
        match self.array(0)?.element_type {
            ElementType::C64 => self.same_dimensions(0, ElementType::F32),
            ElementType::C128 => self.same_dimensions(0, ElementType::F64),
            _ => self.known(0),
        }
    }

    fn tuple_element(&self) -> Option<Inferred> {
        let index = self.attributes.iter().find_map(|attribute| match attribute {
            Attribute::Index(index) => u32::try_from(*index).ok(),
            _ => None,
        })?;
        self.reader.shapes.subshape(*self.operands.first()?, &[index]).map(Inferred::Known)
    }

    fn root_type(&self) -> Option<ElementType> {
        let root = self.root_of(CallRole::Apply)?;
        Some(self.reader.shapes.get(root).array()?.element_type)
    }

    /// One array of these dimensions for each of `count` operands; a tuple if there are several.
    fn for_each(&self, count: usize, dimensions: &Dimensions) -> Option<Inferred> {
        let root = self.root_of(CallRole::Apply)?;
        let types: Vec<ElementType> = match self.reader.shapes.get(root) {
            Shape::Tuple(elements) => elements
                .iter()
                .map(|&element| Some(self.reader.shapes.get(element).array()?.element_type))
                .collect::<Option<_>>()?,
            shape => vec![shape.array()?.element_type],
        };
        if count == 1 {
            return Some(Inferred::Array(*types.first()?, dimensions.clone()));
        }
        let arrays = types.into_iter().map(|of| Inferred::Array(of, dimensions.clone()));
        Some(Inferred::Tuple(arrays.collect()))
    }

    fn without(&self, operand: usize, gone: &[i64]) -> Option<Dimensions> {
        let dimensions = self.array(operand)?.dimensions.iter().enumerate();
        Some(
            dimensions
                .filter(|(at, _)| !gone.contains(&(*at as i64)))
                .map(|(_, dimension)| *dimension)
                .collect(),
        )
    }

    fn reduce(&self) -> Option<Inferred> {
        let dimensions = self.without(0, &self.numbers(AttributeName::Dimensions))?;
        self.for_each(self.operands.len() / 2, &dimensions)
    }

    /// The value of a field of the window for each dimension.
    fn window_field(&self, field: &str, default: i64) -> Vec<i64> {
        let rank = self.window_sizes().len();
        let found = self.window_text(field).and_then(|text| Some(sizes(text).ok()?.1));
        found.filter(|found| found.len() == rank).unwrap_or_else(|| vec![default; rank])
    }

    fn window_text(&self, field: &str) -> Option<&str> {
        let window = self.text(AttributeName::Window)?;
        window
            .trim_matches(['{', '}'])
            .split_whitespace()
            .find_map(|part| part.strip_prefix(field)?.strip_prefix('='))
    }

    fn window_sizes(&self) -> Vec<i64> {
        self.window_text("size").and_then(|text| Some(sizes(text).ok()?.1)).unwrap_or_default()
    }

    /// The sizes of the output of a window that slides over dimensions of these sizes.
    fn windowed(&self, input: &[Dimension]) -> Option<Vec<Dimension>> {
        let sizes = self.window_sizes();
        let strides = self.window_field("stride", 1);
        let lhs_dilations = self.window_field("lhs_dilate", 1);
        let rhs_dilations = self.window_field("rhs_dilate", 1);
        let paddings = match self.window_text("pad") {
            Some(text) => padding(text).ok()?.1,
            None => vec![[0; 3]; sizes.len()],
        };
        let dilated = |size: i64, dilation: i64| match size {
            0 => Some(0),
            _ => (size - 1).checked_mul(dilation)?.checked_add(1),
        };
        let mut output = Vec::new();
        for (at, dimension) in input.iter().enumerate() {
            let [low, high, _] = *paddings.get(at)?;
            let base = dilated(i64::try_from(dimension.size).ok()?, *lhs_dilations.get(at)?)?;
            let padded = base.checked_add(low)?.checked_add(high)?;
            let window = dilated(*sizes.get(at)?, *rhs_dilations.get(at)?)?;
            let steps = padded.checked_sub(window)?.max(-1).checked_div(*strides.get(at)?)?;
            let size = if padded < window { 0 } else { steps.checked_add(1)? };
            output.push(fixed(u64::try_from(size).ok()?));
        }
        Some(output)
    }

    fn reduce_window(&self) -> Option<Inferred> {
        let array = self.array(0)?;
        let dimensions = match self.text(AttributeName::Window) {
            Some(_) => self.windowed(&array.dimensions)?.into(),
            None => array.dimensions.clone(),
        };
        self.for_each(self.operands.len() / 2, &dimensions)
    }

    /// The given sizes before those of the operand (XLA `InferBroadcastShape`).
    fn broadcast(&self) -> Option<Inferred> {
        let array = self.array(0)?;
        let mut dimensions = Dimensions::new();
        for size in self.numbers(AttributeName::Dimensions) {
            dimensions.push(fixed(u64::try_from(size).ok()?));
        }
        dimensions.extend(array.dimensions.iter().copied());
        Some(Inferred::Array(array.element_type, dimensions))
    }

    fn transpose(&self) -> Option<Inferred> {
        let array = self.array(0)?;
        let permutation = self.numbers(AttributeName::Dimensions);
        if permutation.len() != array.dimensions.len() {
            return None;
        }
        let dimensions = permutation
            .into_iter()
            .map(|from| array.dimensions.get(position(from)?).copied())
            .collect::<Option<_>>()?;
        Some(Inferred::Array(array.element_type, dimensions))
    }

    fn concatenate(&self) -> Option<Inferred> {
        let along = position(*self.numbers(AttributeName::Dimensions).first()?)?;
        let mut size = 0_u64;
        for operand in 0..self.operands.len() {
            size = size.checked_add(self.array(operand)?.dimensions.get(along)?.size)?;
        }
        let array = self.array(0)?;
        let mut dimensions = array.dimensions.clone();
        dimensions.get_mut(along)?.size = size;
        Some(Inferred::Array(array.element_type, dimensions))
    }

    fn pad(&self) -> Option<Inferred> {
        let array = self.array(0)?;
        let paddings = padding(self.text(AttributeName::Padding)?).ok()?.1;
        if paddings.len() != array.dimensions.len() {
            return None;
        }
        let mut dimensions = Dimensions::new();
        for (dimension, [low, high, interior]) in array.dimensions.iter().zip(paddings) {
            let size = i64::try_from(dimension.size).ok()?;
            let inside = size.saturating_sub(1).max(0).checked_mul(interior)?;
            let size = size.checked_add(low)?.checked_add(high)?.checked_add(inside)?;
            dimensions.push(fixed(u64::try_from(size).ok()?));
        }
        Some(Inferred::Array(array.element_type, dimensions))
    }

    fn dot_lists(&self) -> [Vec<i64>; 4] {
        use AttributeName::{LhsBatchDims, LhsContractingDims, RhsBatchDims, RhsContractingDims};
        [LhsBatchDims, LhsContractingDims, RhsBatchDims, RhsContractingDims]
            .map(|name| self.numbers(name))
    }

    fn dot(&self) -> Option<Inferred> {
        let [lhs_batch, lhs_contracting, rhs_batch, rhs_contracting] = self.dot_lists();
        let lhs = self.array(0)?;
        let mut dimensions = Dimensions::new();
        for &batch in &lhs_batch {
            dimensions.push(*lhs.dimensions.get(position(batch)?)?);
        }
        dimensions.extend(self.without(0, &[lhs_batch, lhs_contracting].concat())?);
        dimensions.extend(self.without(1, &[rhs_batch, rhs_contracting].concat())?);
        Some(Inferred::Array(lhs.element_type, dimensions))
    }

    /// A dot whose groups stand along the ragged dimension: contracting, batch, or neither.
    fn ragged_dot(&self) -> Option<Inferred> {
        let [lhs_batch, lhs_contracting, mut rhs_batch, rhs_contracting] = self.dot_lists();
        let ragged = self.numbers(AttributeName::LhsRaggedDims);
        let groups = self.numbers(AttributeName::RhsGroupDims);
        let lhs = self.array(0)?;
        let mut dimensions = Dimensions::new();
        if ragged.iter().any(|dimension| lhs_contracting.contains(dimension)) {
            dimensions.push(*self.array(2)?.dimensions.last()?);
        }
        for &batch in &lhs_batch {
            dimensions.push(*lhs.dimensions.get(position(batch)?)?);
        }
        rhs_batch.extend(groups);
        dimensions.extend(self.without(0, &[lhs_batch, lhs_contracting].concat())?);
        dimensions.extend(self.without(1, &[rhs_batch, rhs_contracting].concat())?);
        Some(Inferred::Array(lhs.element_type, dimensions))
    }

    fn convolution(&self) -> Option<Inferred> {
        let labels = self.text(AttributeName::DimLabels)?;
        let (lhs_labels, rest) = labels.split_once('_')?;
        let (rhs_labels, output_labels) = rest.split_once("->")?;
        let (lhs, rhs) = (self.array(0)?, self.array(1)?);
        let size_of = |array: &ArrayShape, labels: &str, label: char| {
            array.dimensions.get(labels.find(label)?).copied()
        };
        let spatial: Vec<char> = ('0'..='9').filter(|&digit| lhs_labels.contains(digit)).collect();
        let input = spatial
            .iter()
            .map(|&digit| size_of(lhs, lhs_labels, digit))
            .collect::<Option<Vec<_>>>()?;
        let windowed = if spatial.is_empty() { Vec::new() } else { self.windowed(&input)? };
        let groups = self.number(AttributeName::BatchGroupCount).unwrap_or(1).max(1) as u64;
        let dimensions = output_labels
            .chars()
            .map(|label| match label {
                'b' => size_of(lhs, lhs_labels, 'b').map(|batch| fixed(batch.size / groups)),
                'f' => size_of(rhs, rhs_labels, 'o'),
                _ => windowed.get(spatial.iter().position(|&digit| digit == label)?).copied(),
            })
            .collect::<Option<_>>()?;
        Some(Inferred::Array(lhs.element_type, dimensions))
    }

    fn fft(&self) -> Option<Inferred> {
        let array = self.array(0)?;
        let length = *self.numbers(AttributeName::FftLength).last()?;
        let mut dimensions = array.dimensions.clone();
        let double = matches!(array.element_type, ElementType::F64 | ElementType::C128);
        let element_type = match self.text(AttributeName::FftType)? {
            "RFFT" => {
                let last = dimensions.last_mut()?;
                *last = fixed(u64::try_from(length).ok()? / 2 + 1);
                if double { ElementType::C128 } else { ElementType::C64 }
            }
            "IRFFT" => {
                *dimensions.last_mut()? = fixed(u64::try_from(length).ok()?);
                if double { ElementType::F64 } else { ElementType::F32 }
            }
            _ => array.element_type,
        };
        Some(Inferred::Array(element_type, dimensions))
    }

    fn gather(&self) -> Option<Inferred> {
        let (array, indices) = (self.array(0)?, self.array(1)?);
        let offset = self.numbers(AttributeName::OffsetDims);
        let slice_sizes = self.numbers(AttributeName::SliceSizes);
        let gone = [
            self.numbers(AttributeName::CollapsedSliceDims),
            self.numbers(AttributeName::OperandBatchingDims),
        ]
        .concat();
        let vector = self.number(AttributeName::IndexVectorDim)?;
        let mut windows = (0_i64..)
            .zip(slice_sizes)
            .filter(|(at, _)| !gone.contains(at))
            .map(|(_, size)| u64::try_from(size).ok().map(fixed));
        let mut batches = (0_i64..)
            .zip(indices.dimensions.iter())
            .filter(|(at, _)| *at != vector)
            .map(|(_, dimension)| *dimension);
        let implied = position(vector)? == indices.dimensions.len();
        let batch_rank = indices.dimensions.len() + usize::from(implied);
        let mut dimensions = Dimensions::new();
        for at in 0..(batch_rank.saturating_sub(1) + offset.len()) as i64 {
            let from_window = offset.contains(&at);
            dimensions.push(if from_window { windows.next()?? } else { batches.next()? });
        }
        Some(Inferred::Array(array.element_type, dimensions))
    }

    fn set_dimension_size(&self) -> Option<Inferred> {
        let array = self.array(0)?;
        let along = position(*self.numbers(AttributeName::Dimensions).first()?)?;
        let mut dimensions = array.dimensions.clone();
        dimensions.get_mut(along)?.bound = Bound::Dynamic;
        Some(Inferred::Array(array.element_type, dimensions))
    }

    fn topk(&self) -> Option<Inferred> {
        let array = self.array(0)?;
        let k = u64::try_from(self.number(AttributeName::K)?).ok()?;
        let mut dimensions = array.dimensions.clone();
        *dimensions.last_mut()? = fixed(k);
        Some(Inferred::Tuple(vec![
            Inferred::Array(array.element_type, dimensions.clone()),
            Inferred::Array(ElementType::S32, dimensions),
        ]))
    }
}
