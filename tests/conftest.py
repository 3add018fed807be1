import signal

from hypothesis import HealthCheck, settings

# how long an example takes depends on what is compiled already and on what else the machine does
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure():
    # a job in a shell's background inherits an ignored Ctrl-C, which tests send to themselves and to commands
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
