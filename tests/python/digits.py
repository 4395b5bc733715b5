"""The digits of the samples, and a loss over them: what the adapters to other libraries are trained
with."""

import pathlib

import numpy as np

DATA = pathlib.Path(__file__).parents[2] / "samples" / "data"
LOSS = """kernel loss {
  in x     : f32[n, p]
  in label : i32[n]
  in digit : i32[c]
  in w     : f32[c, p]
  in b     : f32[c]
  let z = sum(x * w, p) + b
  out loss : f32 = mean(logsumexp(z, c) - sum(where(digit == label, z, 0), c))
}"""


def load():
    """Images, one in a row, their labels, and the ten digits."""
    images = np.load(DATA / "digits_images.npy").reshape(1797, -1).astype("f4")
    labels = np.load(DATA / "digits_labels.npy").astype("i4")
    return (images - images.mean(0)) / (images.std(0) + 1), labels, np.arange(10, dtype="i4")
