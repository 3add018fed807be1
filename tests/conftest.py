import signal

from hypothesis import settings

# `make test` draws the same examples every time; `make test-all` draws new ones
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile("repeatable")


def pytest_configure():
    # a job in a shell's background inherits an ignored Ctrl-C, which tests send to themselves and to commands
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
