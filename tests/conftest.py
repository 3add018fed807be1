import signal


def pytest_configure():
    # a job in a shell's background inherits an ignored Ctrl-C, which tests send to themselves and to commands
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
