"""Connections to Dask: processes of this machine, or any cluster by its scheduler's address."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib import import_module
from multiprocessing import resource_tracker
from typing import Any

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.interrupts import noting_interrupts

CONNECT_SECONDS = 10.0
"""Limit of the time until a scheduler answers, and until its first worker appears."""

_SETTINGS = {
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.allowed-failures": 0,
    "distributed.worker.profile.enabled": False,
}
"""No task waits at a worker, so a dying worker loses one task only; experiments run that one again."""


def distributed() -> Any:
    """Return the module `distributed`; raises `GomeaBnError` if it is not installed."""
    try:
        return import_module("distributed")
    except ImportError:
        raise GomeaBnError('Clusters need Dask: pip install "gomea-bn[experiments]".') from None


@contextmanager
def connected(scheduler: str | None = None, n_workers: int | None = None) -> Iterator[Any]:
    """Give a Dask client of a scheduler, or without an address of processes on this machine.

    It is an error if Dask is not installed, no scheduler answers at the address in time, or it has no worker.
    """
    dask = distributed()
    if scheduler is not None:
        _check_answers(dask, scheduler)
        with dask.Client(scheduler, timeout=CONNECT_SECONDS) as client:
            try:
                client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            except TimeoutError:
                raise GomeaBnError(
                    f"The Dask scheduler at {scheduler!r} has no workers; start some of one thread: dask worker "
                    f"{scheduler} --nthreads 1."
                ) from None
            yield client
        return
    with ExitStack() as stack:
        stack.enter_context(import_module("dask").config.set(_SETTINGS))
        with _interrupted_later():
            cluster = dask.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=None,
                silence_logs=logging.CRITICAL,  # the row of a lost task says so
            )
            client = stack.enter_context(dask.Client(stack.enter_context(cluster)))
        yield client


def _check_answers(dask: Any, address: str) -> None:
    """Raise `GomeaBnError` unless a Dask scheduler answers at an address in time.

    A client itself would wait without end for a server of another kind, which accepts its connection and says nothing.
    """

    async def kind_of_server() -> str:
        arguments = dask.Security().get_connection_args("client")
        async with dask.rpc(address, connection_args=arguments) as server:
            return str((await server.identity())["type"])

    async def limited() -> str:
        return await asyncio.wait_for(kind_of_server(), CONNECT_SECONDS)

    where = f"No Dask scheduler answers at {address!r}: "
    try:
        # a notebook's own thread has an event loop that runs already
        with ThreadPoolExecutor(1) as pool:
            kind = pool.submit(lambda: asyncio.run(limited())).result()
    except TimeoutError as error:
        raise GomeaBnError(f"{where}no answer of Dask within {CONNECT_SECONDS:g} s.") from error
    # each transport has exceptions of its own
    except Exception as error:
        raise GomeaBnError(f"{where}{' '.join(str(error).split()).rstrip('.')}.") from error
    if kind != "Scheduler":
        raise GomeaBnError(
            f"{where}a Dask {kind} has this address.", ["give the address that the scheduler prints"]
        )


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block, since half a cluster cannot be closed.

    Threads and processes that are started in the block never see Ctrl-C, which a terminal sends to all of them; the
    main process ends them.
    """
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or former == signal.SIG_IGN:
        yield
        return
    # its start unblocks Ctrl-C, so it starts first
    resource_tracker.ensure_running()
    noted: list[bool] = []
    masks = hasattr(signal, "pthread_sigmask")
    with noting_interrupts(lambda: noted.append(True)):
        former_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else set()
        try:
            yield
        finally:
            if masks:
                signal.pthread_sigmask(signal.SIG_SETMASK, former_mask)
    if noted:
        raise KeyboardInterrupt
