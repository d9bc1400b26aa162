"""Logging: a record is made and handled at the replay, with the text and the place of the call.

Handlers, formatters and filters of the program's own may do anything with a record, also what the traced code then reads; they break.
"""

import io
import logging

from .._core import _array_no_model as no_model
from .._core import _effect as effect
from .._core import _site as site

_HANDLERS = frozenset((logging.StreamHandler, logging.FileHandler, logging.NullHandler, logging._StderrHandler))
_STREAMS = frozenset((io.StringIO, io.TextIOWrapper))


def log(self, level, msg, args, exc_info=None, extra=None, stack_info=False, stacklevel=1):
    """logging.Logger._log"""
    if exc_info or extra or stack_info or stacklevel != 1:
        no_model("a log record with more than its text")
    if not _is_plain(self):
        no_model("a log record goes to handlers, formatters or filters of the program's own")
    text = str(msg)
    if args:
        text = text % args
    file, line, function = site(logging._srcfile)
    effect(record, "logging", self, level, text, file, line, function)


def _is_plain(logger):
    if type(logger) is not logging.Logger and type(logger) is not logging.RootLogger:
        return False
    if logger.filters or logging._logRecordFactory is not logging.LogRecord:
        return False
    while logger is not None:
        for handler in logger.handlers:
            if type(handler) not in _HANDLERS or handler.filters:
                return False
            if handler.formatter is not None and type(handler.formatter) is not logging.Formatter:
                return False
            if type(handler) is logging.StreamHandler and type(handler.stream) not in _STREAMS:
                return False
        logger = logger.parent if logger.propagate else None
    return True


def record(logger, level, text, file, line, function):
    """The effect."""
    logger.handle(logger.makeRecord(logger.name, level, file, line, text, (), None, function))
