import math

import pytest
import torch

from ropelib.reference import rotate, rotation_matrix

LAYOUTS = ["interleaved", "half"]
INV_FREQ = [1.0, 0.3, 0.01]


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_pair_is_the_textbook_matrix(layout):
    c, s = math.cos(3 * 0.5), math.sin(3 * 0.5)
    expected = torch.tensor([[c, -s], [s, c]], dtype=torch.float64)
    assert torch.equal(rotation_matrix(3, [0.5], layout=layout), expected)


def test_layouts_put_the_blocks_where_they_say():
    quarter = [math.pi / 2, 0.0]  # the first pair turns by 90 degrees, the second rests
    interleaved = [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    half = [[0, 0, -1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]]
    assert rotation_matrix(1, quarter, layout="interleaved").round().tolist() == interleaved
    assert rotation_matrix(1, quarter, layout="half").round().tolist() == half


def test_dimensions_beyond_the_pairs_rest():
    matrix = rotation_matrix(5, INV_FREQ, layout="half", head_dim=9)
    assert torch.equal(matrix[6:, 6:], torch.eye(3, dtype=torch.float64))
    assert not matrix[6:, :6].any() and not matrix[:6, 6:].any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_matrices_form_the_rotation_group(layout):
    def matrix(m):
        return rotation_matrix(m, INV_FREQ, layout=layout)

    identity = torch.eye(6, dtype=torch.float64)
    assert torch.equal(matrix(0), identity)
    torch.testing.assert_close(matrix(7) @ matrix(-2.5), matrix(4.5), rtol=0, atol=1e-15)
    assert torch.equal(matrix(-7), matrix(7).T)
    torch.testing.assert_close(matrix(7) @ matrix(7).T, identity, rtol=0, atol=1e-15)
    torch.testing.assert_close(torch.linalg.det(matrix(7)), identity[0, 0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_vector_meets_the_matrix_of_its_position(layout):
    x, positions = randn(2, 3, 4, 8), [5, -1, 0, 2.5]
    rotated = rotate(x.float(), positions, INV_FREQ, layout=layout)
    assert rotated.dtype == torch.float64 and rotated.shape == x.shape
    for s, m in enumerate(positions):
        matrix = rotation_matrix(m, INV_FREQ, layout=layout, head_dim=8)
        expected = torch.einsum("ij,bhj->bhi", matrix, x.float().double()[:, :, s])
        torch.testing.assert_close(rotated[:, :, s], expected)


def test_positions_per_batch_rotate_row_by_row():
    x, positions = randn(2, 3, 4, 6), torch.tensor([[0, 1, 2, 3], [9, 8, 7, 6]])
    rotated = rotate(x, positions, INV_FREQ, layout="half")
    for b in range(2):
        expected = rotate(x[b], positions[b], INV_FREQ, layout="half")
        assert torch.equal(rotated[b], expected)


def test_gradients_reach_x():
    x = randn(3, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: rotate(x, [0, 1, 2], INV_FREQ, layout="half"), x)


def test_errors_name_value_and_rule():
    with pytest.raises(ValueError, match=r"layout must be .* got 'neox'"):
        rotation_matrix(1, INV_FREQ, layout="neox")
    with pytest.raises(ValueError, match="3 pairs need head_dim >= 6, got 4"):
        rotation_matrix(1, INV_FREQ, layout="half", head_dim=4)
    with pytest.raises(ValueError, match="2 positions for 3 vectors"):
        rotate(randn(3, 6), [0, 1], INV_FREQ, layout="half")
    with pytest.raises(ValueError, match="1 rows of positions for a batch of 2"):
        rotate(randn(2, 1, 3, 6), [[0, 1, 2]], INV_FREQ, layout="half")
