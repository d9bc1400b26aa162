"""Logging: a record is made and handled at the replay, with the text and the place of the call.

Handlers, formatters and filters of the program's own are traced with a record whose times and threads are those of the replay.
"""

import io
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping

from .._core import _array_no_model as no_model
from .._core import _effect as effect
from .._core import _later as later
from .._core import _site as site

_HANDLERS = frozenset((logging.StreamHandler, logging.FileHandler, logging.NullHandler, logging._StderrHandler))
_STREAMS = frozenset((io.StringIO, io.TextIOWrapper))


def log(self, level, msg, args, exc_info=None, extra=None, stack_info=False, stacklevel=1):
    """logging.Logger._log"""
    if exc_info or extra or stack_info or stacklevel != 1:
        no_model("a log record with more than its text")
    if type(self) is not logging.Logger and type(self) is not logging.RootLogger:
        no_model("a logger of a class of the program's own")
    if logging._logRecordFactory is not logging.LogRecord:
        no_model("log records of a class of the program's own")
    file, line, function = site(logging._srcfile)
    if not _is_plain(self):
        self.handle(_made(self.name, level, file, line, msg, args, function))
        return
    text = str(msg)
    if args:
        text = text % args
    effect(record, "logging", self, level, text, file, line, function)


def _is_plain(logger):
    if logger.filters:
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


def _made(name, level, file, line, msg, args, function):
    """logging.LogRecord(...), field by field in its order."""
    made = object.__new__(logging.LogRecord)
    made.name = name
    made.msg = msg
    if args and len(args) == 1 and isinstance(args[0], Mapping) and args[0]:
        args = args[0]
    made.args = args
    made.levelname = logging.getLevelName(level)
    made.levelno = level
    made.pathname = file
    made.filename = os.path.basename(file)
    made.module = os.path.splitext(made.filename)[0]
    made.exc_info = made.exc_text = made.stack_info = None
    made.lineno = line
    made.funcName = function
    now = later(int, time.time_ns)
    made.created = later(float, _created, now)
    made.msecs = later(float, _msecs, now)
    made.relativeCreated = later(float, _relative, now)
    made.thread = made.threadName = None
    if logging.logThreads:
        made.thread = later(int, threading.get_ident)
        made.threadName = later(str, _thread_name)
    if "multiprocessing" in sys.modules or not logging.logMultiprocessing:
        no_model("a log record of one of several processes")
    made.processName = "MainProcess"
    made.process = later(int, os.getpid) if logging.logProcesses else None
    made.taskName = _task_name() if logging.logAsyncioTasks and "asyncio" in sys.modules else None
    return made


def _created(now):
    return now / 1e9


def _msecs(now):
    msecs = (now % 1_000_000_000) // 1_000_000 + 0.0
    return 0.0 if msecs == 999.0 and int(now / 1e9) != now // 1_000_000_000 else msecs


def _relative(now):
    return (now - logging._startTime) / 1e6


def _thread_name():
    return threading.current_thread().name


def _task_name():
    from _asyncio import Task, _get_running_loop, current_task

    loop = later(None, _get_running_loop)
    if loop is None:
        return None
    task = later(None, current_task, loop)
    if task is None:
        return None
    if not isinstance(task, Task) or type(task).get_name is not Task.get_name:
        no_model("a log record of a task that has names of its own kind")
    return later(str, Task.get_name, task)
