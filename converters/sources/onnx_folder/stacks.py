"""A folder's matrix of a tensor, or of one expert of a stack, wherever it stands: alone, or with the other experts."""

from dataclasses import replace

from converters.sources.onnx_folder.arrays import FolderArrays
from converters.weights.matrix import WeightFormat
from converters.weights.mixture import FORM
from converters.weights.records import TensorRecord
from repack.block_quantized import BlockMatrix, Layout


def stored_matrix(
    form: WeightFormat, arrays: FolderArrays, layout: Layout, record: TensorRecord, expert: int | None
) -> BlockMatrix:
    """As `form` has it; all experts of a stack may be one matrix, beside one another or below."""
    shared = f"{record.stored_as}.codes"
    if expert is None or shared not in arrays or record.format.startswith(FORM):
        return form.read_back(arrays.numbers, layout, record, expert)
    if record.rows_first and arrays.shape(shared)[0] == layout.rows and record.experts > 1:
        whole = form.read_back(arrays.numbers, replace(layout, columns=record.experts * layout.columns), record)
        return whole.cut((0, layout.rows), (expert * layout.columns, (expert + 1) * layout.columns))
    return form.read_back(arrays.numbers, layout, replace(record, first_row=expert * layout.rows))
