"""Progress bars by tqdm, where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: True for a bar, or a function that is called with (done, total, text). An exception of it stops the work and is passed on.
Progress = bool | Callable[[int, int, str], object]


@contextmanager
def reporting(progress: Progress, what: str) -> Iterator[Callable[[int, int, str], object] | None]:
    """What the native half calls: nothing, the caller's own function, or one that moves a bar."""
    if progress is False:
        yield None
        return
    if progress is not True:
        yield progress
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    bar: Any = None

    def show(done: int, total: int, text: str) -> None:
        nonlocal bar
        if bar is None:
            bar = tqdm(total=total, desc=what)
        bar.update(done - bar.n)
        if text:
            bar.set_postfix_str(text, refresh=False)

    try:
        yield show
        if bar is not None:
            bar.update(bar.total - bar.n)
    finally:
        if bar is not None:
            bar.close()
