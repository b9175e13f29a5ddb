"""A worker: units of work in as JSON lines, finished parts on disk, JSON lines out.

run.py has the first as a thread of its own process. Each other is a process, forked from it with the tokenizer that it
has read, and ends with it: by run.py, or by the kernel where that was killed. Two threads of one process would wait for
each other's Python and heap: they took 1.1 to 1.4 times as long as two processes (n = 4).
"""

import contextlib
import ctypes
import gc
import json
import os
import signal
import time
import traceback
from pathlib import Path

SAID_EVERY = 0.2  # seconds
TRIM_EVERY = 1 << 22  # bytes of input
OLDER_BASE = 5  # times this process's memory that the other release takes to begin; the most of five tokenizers was 4.4
PIECES_FOR_OLDER = 1 << 12  # characters of a piece that goes to the other release, which takes more memory
WHOLE_PIECES = 2  # a document of up to so many is encoded whole: a piece and a rest take longer
PIECES_MOST = 1 << 22  # characters without a place to cut, from which on they are counted against the memory


def anonymous(pid):
    """Anonymous memory of a process, in bytes; of what forked processes share its part, where that is told."""
    for name, field in (("smaps_rollup", "Pss_Anon:"), ("status", "RssAnon:")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", encoding="ascii") as file:
            for line in file:
                if line.startswith(field):
                    return int(line.split()[1]) * 1024
    return 0


def end_with_parent():
    """Die with the parent, and leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def settle():
    """Give large blocks back to the system as soon as they are free, and keep one heap for both threads."""
    libc = ctypes.CDLL(None)
    m_mmap_threshold, m_trim_threshold, m_arena_max = -3, -1, -8
    if hasattr(libc, "mallopt"):
        libc.mallopt(m_arena_max, 1)
        libc.mallopt(m_mmap_threshold, 1 << 20)
        libc.mallopt(m_trim_threshold, 4 << 20)


def reason(text, error):
    """Why a tokenizer does not take a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half a pair of surrogates, which is no text"
    return f"the tokenizer does not take it ({' '.join(str(error).split())})"


class Stopped(Exception):
    """The run has ended before this unit was done."""


class Common:
    """What workers have in common before they begin: a tokenizer, and what is known of it. Raises Refused.

    `entries`: one more than its highest id. `base`: anonymous memory with the tokenizer alone, in bytes.
    """

    def __init__(self, config):
        os.environ["RAYON_NUM_THREADS"] = "1"  # read when the tokenizer comes
        import cutting
        import encoder
        from trouble import Refused

        self.config, self.need = config, encoder.need_per_byte()
        # One after the other, and numpy last: loading takes several times what is kept, and what is free then is used.
        tokenizer = encoder.load(config["tokenizer"])
        encoder.trim()
        spec = encoder.read_spec(config["tokenizer"])
        self.entries = encoder.entries(spec)
        append = None if config["append"] is None else encoder.id_of(spec, config["append"])
        try:
            self.rules = cutting.rules(spec)
            self.why = self.rules.why
        except cutting.NotShown as reason:
            self.rules, self.why = None, str(reason)
        del spec
        encoder.trim()
        self.encoder = encoder.Encoder(tokenizer, config["special"], append)
        try:
            self.encoder.edges()
        except Refused as reason:
            self.rules, self.why = None, str(reason)
        encoder.trim()
        self.differing, self.older = None, None
        if config["exact"] and config["exact"]["codes"]:
            import older

            self.differing = older.Differing(config["exact"]["codes"])
        self.dtype = "<u2" if self.entries <= 1 << 16 else "<u4"  # the smallest that holds every id
        self.stopped = False
        gc.freeze()  # what is here stays: no use to look through it for garbage
        self.base = anonymous("self")


class Worker:
    """What does not change from unit to unit. `say(**message)`: where it tells what it does."""

    def __init__(self, common, say):
        import numpy as np

        self.common, self.config, self.say = common, common.config, say
        self.rules, self.why, self.need = common.rules, common.why, common.need
        self.encoder, self.differing = common.encoder, common.differing
        self.dtype = np.dtype(common.dtype)
        self.budget, self.by_older, self.untrimmed = 0, 0, 0

    def allow(self, budget):
        """Use no more than this many bytes of memory beside what all have, the other release's process included."""
        self.budget = max(budget - (anonymous(self.common.older.process.pid) if self.common.older else 0), 0)

    def unit(self, number, spans, path):
        """Do one unit; its record."""
        import csv

        import inputs
        import outputs

        partial = f"{path}.partial"
        part = outputs.part(self.config["format"], partial, self.dtype)
        huge = int(min(inputs.HUGE, max(self.budget // self.need, inputs.BATCH_BYTES)))
        csv.field_size_limit(max(self.budget // self.need, huge))
        self.said, self.read, self.told, self.by_older = time.monotonic(), 0, 0, 0
        for batch in inputs.read(spans, self.config["column"], huge):
            if isinstance(batch, inputs.Stream):
                self.stream(batch, part)
                self.tell(batch.done())
            else:
                self.texts(batch, part, huge)
                self.tell(batch.done)
        record = part.finish()
        if os.path.exists(f"{partial}.lengths"):
            os.replace(f"{partial}.lengths", f"{path}.lengths")
        os.replace(partial, path)
        record |= {"bytes": os.stat(path).st_size, "unit": number, "by_older": self.by_older}
        return record, int(self.read) - self.told

    def tell(self, read):
        """Say how much of the input was read, now and then."""
        import encoder

        self.read += read
        self.untrimmed += read
        if self.untrimmed >= TRIM_EVERY:
            self.untrimmed = 0
            encoder.trim()
        if self.common.stopped:
            raise Stopped
        if (now := time.monotonic()) - self.said > SAID_EVERY:
            self.say(at=int(self.read) - self.told)
            self.said, self.told = now, int(self.read)

    def texts(self, batch, part, huge):
        """Encode texts; of those that cannot be, say which."""
        import cutting
        import inputs

        texts = batch.texts
        large = min(huge, WHOLE_PIECES * cutting.PIECE) if self.rules else huge
        start = 0
        for at, text in enumerate(texts):
            if len(text) > large:
                self.small(batch, start, at, part)
                size = len(text.encode("utf-8", "replace"))
                self.stream(inputs.Stream(iter((text,)), batch.where(at), whole_bytes=size), part)
                start = at + 1
        self.small(batch, start, len(texts), part)

    def small(self, batch, start, stop, part):
        """Encode some texts of a batch at once."""
        texts = batch.texts[start:stop]
        if not texts:
            return
        apart = self.differing.which(texts) if self.differing else ()
        mine = [text for at, text in enumerate(texts) if at not in apart] if apart else texts
        try:
            found = self.encoder.encode(mine) if mine else []
        except Exception:
            self.refuse(batch)
            raise
        for at in apart:  # in order, so each stands where it belongs
            found.insert(at, self.exact(texts[at], batch.where(start + at)))
        part.documents(found)

    # The other release
    def exact(self, text, where):
        """The ids of a document that holds code points which the other release takes otherwise."""
        import numpy as np

        self.by_older += 1
        after = [] if self.encoder.append is None else [self.encoder.append]
        if self.rules is None or len(text) <= PIECES_FOR_OLDER:
            return np.concatenate([self.ask(text, self.encoder.special, where), *after])
        before, after = self.encoder.edges()
        return np.concatenate([before, *self.exact_pieces(text, where), after])

    def exact_pieces(self, text, where):
        """The ids of a part of a document, by the other release where it has to be."""
        import cutting

        cutter = cutting.Cutter(self.rules, PIECES_FOR_OLDER)
        for piece in [*cutter.feed(text), cutter.rest()]:
            if self.differing.holds(piece):
                yield self.ask(piece, False, where)
            else:
                yield self.encoder.plain([piece], False)[0]

    def ask(self, text, special, where):
        """The ids of a text by the other release. Raises Refused, NeedsMemory."""
        import encoder
        import older
        from trouble import NeedsMemory, Refused

        need = len(text.encode("utf-8", "replace")) * encoder.NEED_LISTS
        common, exact = self.common, self.config["exact"]
        start = 0 if common.older else OLDER_BASE * common.base
        if need + start > self.budget:
            why = f"it holds a character that tokenizers {exact['version']} has to encode"
            raise NeedsMemory(need + start, where, why)
        try:
            if not common.older:
                common.older = older.Older(exact["python"], self.config["tokenizer"])
                self.budget = max(self.budget - anonymous(common.older.process.pid), 0)
                self.say(older=common.older.process.pid)
            return common.older.plain(text, special)
        except (ValueError, UnicodeEncodeError) as error:
            raise Refused(f"{where}: {reason(text, error)}") from None

    def refuse(self, batch):
        from trouble import Refused

        for index, text in enumerate(batch.texts):
            try:
                self.encoder.encode([text])
            except Exception as error:
                raise Refused(f"{batch.where(index)}: {reason(text, error)}") from None

    def stream(self, document, part):
        """One large document: in pieces where that is shown to be the same, else whole where there is memory."""
        import cutting
        import numpy as np
        from trouble import NeedsMemory, Refused

        if self.rules is None:
            self.whole(document, part)
            return
        apart = False

        def encoded(piece):
            nonlocal apart
            try:
                if self.differing and self.differing.holds(piece):
                    apart = True
                    return np.concatenate([*self.exact_pieces(piece, document.where)])
                return self.encoder.plain([piece], False)[0]
            except (NeedsMemory, Refused):
                raise
            except Exception as error:
                raise Refused(f"{document.where}: {reason(piece, error)}") from None

        before, after = self.encoder.edges()
        cutter = cutting.Cutter(self.rules)
        part.begin()
        part.piece(before)
        for text in document.pieces:
            for piece in cutter.feed(text):
                part.piece(encoded(piece))
            self.tell(document.done())
            if cutter.held > PIECES_MOST and cutter.held * self.need > self.budget:
                raise NeedsMemory(cutter.held * self.need, document.where, "it has no place to cut for very long")
        part.piece(encoded(cutter.rest()))
        part.piece(after)
        part.end()
        self.by_older += apart

    def whole(self, document, part):
        from trouble import NeedsMemory, Refused

        why = f"it is encoded whole, because {self.why}"
        if document.whole_bytes and document.whole_bytes * self.need > self.budget:
            raise NeedsMemory(document.whole_bytes * self.need, document.where, why)
        texts, size = [], 0
        for text in document.pieces:
            texts.append(text)
            size += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
            if size * self.need > self.budget:
                raise NeedsMemory(size * self.need, document.where, f"{why}, at least")
        text = "".join(texts)
        del texts
        if self.differing and self.differing.holds(text):
            part.documents([self.exact(text, document.where)])
            return
        try:
            found = self.encoder.encode([text])
        except Exception as error:
            raise Refused(f"{document.where}: {reason(text, error)}") from None
        part.documents(found)


def serve(common, orders, target):
    """Do what stands in the lines of `orders`, until they end, and say over a descriptor, `target`, what came of it."""
    from records import write_json
    from trouble import NeedsMemory, Refused

    def say(**message):
        os.write(target, json.dumps(message).encode() + b"\n")

    try:
        worker = Worker(common, say)
        for line in orders:
            order = json.loads(line)
            if "budget" in order:
                worker.allow(order["budget"])
                continue
            try:
                record, left = worker.unit(order["unit"], order["spans"], order["path"])
            except NeedsMemory as error:
                say(needs=error.need, where=error.where, reason=error.reason, unit=order["unit"])
                continue
            write_json(Path(order["record"]), record)
            cpu = {"cpu": sum(os.times()[:2]), "older_cpu": common.older.cpu if common.older else 0.0}
            say(done=order["unit"], at=left, record=record, **cpu)
    except Refused as error:
        say(refused=str(error))
    except (Stopped, BrokenPipeError):
        pass
    except BaseException as error:
        traceback.print_exc()
        say(failed=f"{type(error).__name__}: {error}")
    finally:
        os.close(target)
