"""PyTorch on the CPU: its operators for arrays whose channels lie innermost, most of which are
oneDNN's.

The operators allocate their results. So that no call pays for new pages, the C library keeps what
is freed.
"""
import ctypes

import torch
import torch.nn.functional as nn

VERSION = torch.__version__
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, 32 << 20)
ctypes.CDLL(None).mallopt(TRIM_THRESHOLD, 1 << 30)


def images(x):
    """NHWC as PyTorch has it: NCHW with the strides of NHWC."""
    return torch.from_numpy(x).permute(0, 3, 1, 2)


def on_images(function):
    """`function(x)` of the images, given the other inputs once."""
    def build(i, o):
        call_with = function(*[torch.from_numpy(a) for a in i[1:]])
        x = images(i[0])

        def call():
            with torch.inference_mode():
                return [call_with(x).permute(0, 2, 3, 1).numpy()]

        return call

    return build


def conv(w):  # to channels out, channels in, rows, columns
    weights = w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    return lambda x: nn.conv2d(x, weights)


def depthwise(w):
    weights = w.permute(2, 0, 1).unsqueeze(1).contiguous(memory_format=torch.channels_last)
    return lambda x: nn.conv2d(x, weights, groups=w.shape[2])


def max_pool(cell):
    return lambda x: nn.max_pool2d(x, tuple(cell.shape), stride=2)


def gather_rows(i, o):
    x, out = torch.from_numpy(i[0]), torch.from_numpy(o[0])
    at = 7919 * torch.from_numpy(i[1]).long() % x.shape[0]

    def call():
        with torch.inference_mode():
            torch.index_select(x, 0, at, out=out)

    return call


CASES = {
    "conv": on_images(conv), "depthwise": on_images(depthwise),
    "max_pool": on_images(max_pool), "max_pool_3": on_images(max_pool),
    "gather_rows": gather_rows,
}
FIRST = {}
