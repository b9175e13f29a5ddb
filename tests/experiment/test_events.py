"""The schema of events."""

from beyond_ram.experiment import events


def test_every_field_of_an_event_is_described():
    named = {field for event in events.EVENTS.values() for field in (*event.fields, *event.optional)}
    assert named <= set(events.FIELDS)
    assert set(events.FIELDS) <= {*named, "t_s", "event", "pid", "tree"}


def test_faults_are_named():
    sound = {"event": "loaded", "t_s": 1.0, "rows": 4, "bytes_in": 9}
    assert not list(events.faults(sound))
    assert not list(events.faults({"event": "of your own", "colour": 1}))
    assert list(events.faults({"event": "loaded", "rows": True, "colour": 1})) == [
        "event 'loaded': 'bytes_in' is missing",
        "event 'loaded': 'rows' is True, not int or NoneType",
        "event 'loaded': 'colour' is no field of it",
    ]
