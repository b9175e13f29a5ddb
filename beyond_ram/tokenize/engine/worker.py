"""A worker: reads orders as JSON lines, writes finished parts to disk, and replies with JSON lines.

The first worker is a thread of run.py's process. Each other one is a process, forked from it with the loaded tokenizer;
it ends with run.py, or by the kernel if that was killed. Two threads of one process would wait for each other's Python
and heap: they took 1.1 to 1.4 times as long as two processes (n = 4).
"""

import contextlib
import csv
import ctypes
import gc
import json
import mmap
import os
import resource
import signal
import sys
import time
import traceback

import cutting
import inputs
import same_ids
import sources
from records import write_record
from trouble import NO_ROOM, NeedsMemory, Refused, out_of_memory

SAY_EVERY = 0.2  # seconds between progress messages
LARGE = 8  # number of largest documents of a unit that are recorded for `verify`
WHOLE_PIECES = 2  # documents up to this many pieces are encoded whole, because a piece and a rest take longer
SLACK = 16 << 20  # address space that a worker takes and does not use: stacks of threads, buffers
SLOWER = "it has characters that only the slower release of tokenizers may encode"
GROWTH = 33  # bytes that a character may become: U+FDFA, decomposed


def anonymous(pid):
    """Anonymous memory of a process in bytes, with its proportional part of shared memory if known."""
    for name, field in (("smaps_rollup", "Pss_Anon:"), ("status", "RssAnon:")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", encoding="ascii") as file:
            for line in file:
                if line.startswith(field):
                    return int(line.split()[1]) * 1024
    return 0


def status(pid, field):
    """A field of a process in the kernel's status file, in bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def data_bytes():
    """Address space of this process that can become anonymous memory."""
    return status("self", "VmData:")


def bound(size):
    """Let allocations of this process fail above a size, so that it can report that instead of being killed."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    size += SLACK
    resource.setrlimit(resource.RLIMIT_DATA, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))


class Place:
    """Where a worker reads, in memory that outlives it."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 1 << 13)

    def set(self, text):
        raw = text.encode("utf-8", "surrogateescape")[: len(self.memory) - 1] + b"\0"
        self.memory[: len(raw)] = raw

    def get(self):
        return self.memory[:].partition(b"\0")[0].decode("utf-8", "replace")


NOISE = os.memfd_create("noise")  # what libraries say before they end the process


def last_words():
    """The last line that a library wrote, in brackets."""
    lines = os.pread(NOISE, 1 << 12, max(os.fstat(NOISE).st_size - (1 << 12), 0)).splitlines()
    return f" ({lines[-1].decode(errors='replace')})" if lines else ""


def death(status, place, limited):
    """Why a worker ended, in words. `status`: negative for a signal."""
    if status >= 0:
        return f"a worker ended with {status}"
    more = "give more memory, or a --memory-limit below what is free" if limited else "give --memory-limit"
    why = f", as happens where memory is out; {more}" if -status in (signal.SIGKILL, signal.SIGABRT) else ""
    where = f" at or after {place}" if place else ""
    return f"a worker was killed by signal {-status}{where}{last_words()}{why}"


def end_with_parent():
    """Die with the parent."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def in_child(work, place):
    """Run `work` in a child, and return its exit status. A death of the child, which has all memory, is reported."""
    child = os.fork()
    if not child:
        status = 1
        try:
            end_with_parent()
            sys.stderr = open(os.dup(2), "w", buffering=1, errors="backslashreplace")
            os.dup2(NOISE, 2)  # a death gets one line, of the parent
            status = work()
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)  # at once: a worker thread may still encode a large document
    passed: list[int] = []

    def pass_on(number, _):
        passed.append(number)
        os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status >= 0:
        return status
    if -status in passed:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    print(f"beyond-ram: {death(status, place.get(), True)}; the same command goes on where it stopped", file=sys.stderr)
    return 1


def reason(text, error):
    """Why a tokenizer refuses a text. Raises MemoryError if memory is out, and an error that is no refusal."""
    if out_of_memory(error):
        raise MemoryError from None
    if isinstance(error, (KeyboardInterrupt, SystemExit, NeedsMemory)):
        raise error
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half a pair of surrogates, which is no text"
    return f"the tokenizer does not take it ({' '.join(str(error).split())})"


class Stopped(Exception):
    """The run ended before this unit was done."""


class Common:
    """State that workers share before they start: a tokenizer and its properties. Raises Refused.

    `dtype`: the smallest for every id. `base`: anonymous memory with the tokenizer only, in bytes. `why_alone`: why
    no fast release encodes beside the one whose ids count; or "".
    """

    def __init__(self, config):
        os.environ["RAYON_NUM_THREADS"] = "1"  # read when the tokenizer is imported
        import encoder

        self.config = config
        gc.disable()  # loading makes many objects, and no garbage that only the collector finds
        spec = encoder.read_spec(config["tokenizer"])
        named, fast, alike, self.why_alone = self.releases(spec)
        sources.trim()
        self.size = encoder.Size(spec)
        dtype = "<u2" if named.highest_id(spec) < 1 << 16 else "<u4"
        append = None if config["append"] is None else named.id_of(spec, config["append"])
        try:
            self.rules = cutting.rules(spec)
            self.why = self.rules.why
        except cutting.NoCuts as reason:
            self.rules, self.why = None, str(reason)
        del spec
        sources.trim()
        self.encoder = encoder.Encoder(named, config["special"], append, fast, alike)
        self.dtype = self.encoder.np.dtype(dtype)
        self.need = self.encoder.need_per_byte
        try:
            self.encoder.edges()
        except Refused as reason:
            self.rules, self.why = None, str(reason)
        sources.trim()
        self.stopped = False
        gc.enable()
        gc.freeze()  # the loaded objects stay, so the garbage collector need not search them
        self.base = anonymous("self")

    def explained(self):
        """Two lines: the releases that encode, and how large documents are encoded."""
        named, fast = self.encoder.named, self.encoder.fast
        line = f"ids of tokenizers {named.version}"
        if fast:
            line += f"; tokenizers {fast.version} encodes the documents to which both give the same"
        elif self.why_alone:
            line += f" alone: {self.why_alone}"
        whole = f"encoded whole, with up to {self.need} bytes of memory per byte of text"
        return f"{line}\nlarge documents are {'cut' if self.rules else whole}: {self.why}"

    def releases(self, spec):
        """The release whose ids count, a faster one beside it, its `Alike`, and the reason for this choice.

        Loading takes several times the memory that is kept, and the next load reuses it; so numpy is imported last.
        """
        import encoder

        path, folder = self.config["tokenizer"], self.config["named"]
        if not folder:
            return encoder.LoadedRelease(path, spec), None, None, ""
        library = encoder.library_of(folder)
        try:
            ranges = same_ids.characters(spec, encoder.tokenizers.__version__, library.__version__)
            fast = encoder.LoadedRelease(path, spec)  # first: behind the other it takes a third more CPU time
        except (same_ids.NoProof, Refused) as reason:
            return encoder.LoadedRelease(path, spec, library), None, None, str(reason)
        named = encoder.LoadedRelease(path, spec, library)
        try:
            ranges += same_ids.of_entries(spec, fast, named, ranges)
        except same_ids.NoProof as reason:
            return named, None, None, str(reason)
        sources.trim()
        return named, fast, same_ids.Alike(ranges, same_ids.suspects(spec, fast, ranges)), ""


class Worker:
    """State that is the same for all units. `say(**message)` sends a message; `place`: where this worker reads."""

    def __init__(self, common, say, place):
        self.common, self.config, self.say, self.place = common, common.config, say, place
        self.rules, self.why, self.need, self.size = common.rules, common.why, common.need, common.size
        self.encoder = common.encoder
        self.budget, self.untrimmed, self.data = 0, 0, data_bytes()
        self.reused = 0  # what the library keeps of a large text and uses again for the next one

    def allow(self, budget):
        """Set the maximum memory besides the shared part, in bytes."""
        self.budget = max(budget, 0)
        if self.config["limited"]:
            bound(self.data + self.budget)

    def demand(self, size, where, reason, by_named=False):
        """Raise NeedsMemory if a text of some bytes in its normal form needs more than is left."""
        need = size * (self.encoder.named.need_per_byte if by_named else self.need)
        if self.config["limited"] and 2 * need > self.budget:  # what earlier documents left counts too
            sources.trim()
            need += max(data_bytes() - self.data - self.reused, 0)
        if need > self.budget:
            raise NeedsMemory(need, where, reason)

    def alone(self, encode, text):
        """The ids of one large text; notes what the library keeps of it."""
        before = data_bytes()
        ids = encode([text])[0]
        self.reused = max(self.reused, data_bytes() - before - ids.nbytes)
        return ids

    def unit(self, number, spans, path, copies):
        """Do one unit. Returns its record, and the bytes of input not reported yet. `copies`: paths of its objects."""
        import outputs

        partial = f"{path}.partial"
        part = outputs.part(self.config["format"], partial, self.common.dtype)
        huge = int(min(sources.HUGE, max(self.budget // self.need, sources.BATCH_BYTES)))
        csv.field_size_limit(max(self.budget // self.need, huge))
        self.reported_s, self.read, self.reported, self.characters = time.monotonic(), 0, 0, 0
        self.cut, self.least_cut, self.by_named = 0, None, 0
        self.large: list[list[int]] = []
        self.place.set(spans[0][0])
        sources.copies, given, spans = copies, spans, []
        for span in given:
            spans += inputs.arrived(span[0], self.config["column"], self.budget) if span[0] in copies else [span]
        for batch in inputs.read(spans, self.config["column"], huge):
            if isinstance(batch, sources.Stream):
                self.place.set(batch.where)
                self.stream(batch, part)
                self.report(batch.done())
            else:
                if batch.texts:
                    self.place.set(batch.where(0))
                self.texts(batch, part, huge)
                self.report(batch.done)
        part.finish()
        if os.path.exists(f"{partial}.lengths"):
            os.replace(f"{partial}.lengths", f"{path}.lengths")
        os.replace(partial, path)
        large = [*self.large, self.least_cut] if self.least_cut else self.large
        record = {"rows": part.rows, "tokens": part.tokens, "unit": number, "file": outputs.file_digest(path)}
        record |= {"characters": self.characters, "cut": self.cut, "large": large, "by_named": self.by_named}
        if os.path.exists(f"{path}.lengths"):
            record["lengths"] = outputs.file_digest(f"{path}.lengths")
        return record, int(self.read) - self.reported

    def note(self, row, characters, cut=False):
        """Note a document: the record lists the unit's largest, with cut ones first, and the smallest that was cut."""
        self.large = sorted([*self.large, [cut, characters, row]], reverse=True)[:LARGE]
        self.cut += cut
        if cut:
            self.least_cut = min(self.least_cut or [1, characters, row], [1, characters, row])

    def report(self, read):
        """Count input that was read, and report it from time to time."""
        self.read += read
        self.untrimmed += read
        if self.untrimmed >= sources.HEAP.trim_bytes:
            self.untrimmed = 0
            sources.trim()
        if self.common.stopped:
            raise Stopped
        if (now := time.monotonic()) - self.reported_s > SAY_EVERY:
            self.say(at=int(self.read) - self.reported)
            self.reported_s, self.reported = now, int(self.read)

    def texts(self, batch, part, huge):
        """Encode texts. A text that cannot be encoded is refused by its place."""
        texts = batch.texts
        large = min(huge, WHOLE_PIECES * cutting.PIECE) if self.rules else huge // GROWTH
        start = 0
        for at, text in enumerate(texts):
            if len(text) > large:
                self.small(batch, start, at, part)
                self.stream(sources.Stream(iter((text,)), batch.where(at)), part)
                start = at + 1
        self.small(batch, start, len(texts), part)

    def small(self, batch, start, stop, part):
        """Encode some texts of a batch at once."""
        texts = batch.texts[start:stop]
        if not texts:
            return

        def allow(at):
            self.by_named += 1
            self.demand(self.size(texts[at]), batch.where(start + at), SLOWER, by_named=True)

        try:
            arrays = self.encoder.encode(texts, allow)
        except NeedsMemory:
            raise
        except BaseException:
            for at, text in enumerate(texts, start):
                try:
                    self.encoder.encode([text])
                except BaseException as error:
                    raise Refused(f"{batch.where(at)}: {reason(text, error)}") from None
            raise
        sizes = list(map(len, texts))
        self.characters += sum(sizes)
        if len(self.large) < LARGE or max(sizes) > self.large[-1][1]:
            self.note(part.rows + sizes.index(max(sizes)), max(sizes))
        part.documents(arrays)

    def stream(self, document, part):
        """Encode one large document: in pieces if a proof covers it, else whole if the memory suffices."""
        if self.rules is None:
            self.whole(document, part)
            return
        no_cut, by_named = "it has no place to cut for very long", False

        def encoded(piece):
            def allow(_):
                nonlocal by_named
                by_named = True
                if large:
                    self.demand(self.size(piece), document.where, SLOWER, by_named=True)

            large = len(piece) > WHOLE_PIECES * cutting.PIECE
            if large:
                self.demand(self.size(piece), document.where, no_cut)
            try:
                if large:
                    return self.alone(lambda texts: self.encoder.plain(texts, False, allow), piece)
                return self.encoder.plain([piece], False, allow)[0]
            except BaseException as error:
                raise Refused(f"{document.where}: {reason(piece, error)}") from None

        before, after = self.encoder.edges()
        cutter, pieces, characters, size = cutting.Cutter(self.rules), 1, 0, 0
        part.begin()
        part.piece(before)
        for text in document.pieces:
            characters += len(text)
            for piece in cutter.feed(text):
                part.piece(encoded(piece))
                pieces += 1
            self.report(document.done())
            size = size + self.size(text) if len(cutter.parts) > 1 else self.size(cutter.parts[0])
            self.demand(size, document.where, f"{no_cut}, at least")
        part.piece(encoded(cutter.rest()))
        part.piece(after)
        self.characters += characters
        self.by_named += by_named
        self.note(part.rows, characters, pieces > 1)
        part.end()

    def whole(self, document, part):
        why = f"it is encoded whole, because {self.why}"
        self.demand(document.whole_bytes or 0, document.where, why)  # before it is read
        texts, size = [], 0
        for text in document.pieces:
            texts.append(text)
            size += self.size(text)
            self.demand(size, document.where, f"{why}, at least")
        text = "".join(texts)
        del texts

        def allow(_):
            self.by_named += 1
            self.demand(size, document.where, f"{why}, and {SLOWER}", by_named=True)

        try:
            ids = self.alone(lambda texts: self.encoder.encode(texts, allow), text)
        except BaseException as error:
            raise Refused(f"{document.where}: {reason(text, error)}") from None
        self.characters += len(text)
        self.note(part.rows, len(text))
        part.documents([ids])


def serve(common, orders, target, place):
    """Serve the orders in the lines of `orders` until they end; write replies to the descriptor `target`."""

    def say(**message):
        os.write(target, json.dumps(message).encode() + b"\n")

    try:
        worker = Worker(common, say, place)
        for line in orders:
            order = json.loads(line)
            if "budget" in order:
                worker.allow(order["budget"])
                continue
            try:
                record, left = worker.unit(order["unit"], order["spans"], order["path"], order["copies"])
            except NeedsMemory as error:
                say(needs=error.need, where=error.where, reason=error.reason, what=error.what, unit=order["unit"])
                continue
            except MemoryError:
                why = "documents, or what has to be unpacked for them, do not fit; give more, or make them smaller"
                say(needs=0, where=place.get(), reason=why, what="", unit=order["unit"])
                continue
            record["manifest"] = order["manifest"]
            write_record(order["record"], record)
            say(done=order["unit"], at=left, record=record, cpu=sum(os.times()[:2]))
    except Refused as error:
        say(refused=str(error))
    except (Stopped, BrokenPipeError):
        pass
    except OSError as error:
        say(failed=" ".join(str(error).split()), no_room=error.errno in NO_ROOM)
    except BaseException as error:
        traceback.print_exc()
        say(failed=f"{type(error).__name__}: {error}")
    finally:
        os.close(target)
