// Two graphs side by side.

for (const side of ["a", "b"]) {
  servedDrawing(section(`drawing-${side}`), JSON.parse(section(`picture-${side}`).textContent), `open_${side}`);
}
document.body.dataset.ready = "yes";
