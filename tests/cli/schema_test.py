#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the tools write fits src/cli/schema; and pawl report, which has a reader of schemas of its
own, refuses what does not. usage: schema_test.py PAWL"""
import copy
import glob
import json
import os
import random
import sys

import jsonschema

import command

FOLDER = os.path.join(command.ROOT, "src", "cli", "schema")
# What src/cli/common/schema.c knows, and what only explains.
KNOWN = {"$ref", "type", "const", "enum", "required", "properties", "additionalProperties", "items",
         "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "minLength", "anyOf",
         "pattern", "$schema", "title", "description", "definitions"}


def schema_of(tool):
    with open(os.path.join(FOLDER, tool + ".schema.json")) as file:
        return json.load(file)


def validator(tool):
    return jsonschema.Draft7Validator(schema_of(tool))


def words_of(schema):
    """All words that say something; names of members are none."""
    for word, value in schema.items():
        yield word
        if word in ("properties", "definitions"):
            for inner in value.values():
                yield from words_of(inner)
        elif word == "anyOf" or isinstance(value, list) and word == "items":
            for inner in value:
                yield from words_of(inner)
        elif isinstance(value, dict) and word not in ("const", "enum"):
            yield from words_of(value)


def places(value, path=()):
    """Every place in a document."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) \
        if isinstance(value, list) else ()
    for key, below in inner:
        yield from places(below, path + (key,))


def at(value, path):
    for key in path:
        value = value[key]
    return value


class Schemas(command.CommandTest):
    def documents(self):
        """One of each tool, as it writes them now."""
        self.succeed("bench", "--workload", "mutex,lru", "--locks", "ticket,pthread", "--threads",
                     "1,2", "--seconds", "0.01", "--runs", "2", "--json", "bench.json")
        self.succeed("sim", "--locks", "ticket,mcs", "--threads", "1,2", "--episodes", "50",
                     "--json", "sim.json")
        self.succeed("sim", "--preset", "papers", "--runs", "1", "--episodes", "1", "--json",
                     "sim-papers.json")
        self.succeed("sim", "--preset", "validate", "--locks", "ticket,mcs", "--runs", "1",
                     "--episodes", "50", "--json", "sim-validate.json")
        self.succeed("check", "tas", "ticket", "--threads", "2", "--json", "check.json")
        self.succeed("profile", "--order", "--json=profile.json", "--", sys.executable, "-c",
                     "import threading\nl = threading.Lock()\nl.acquire()\n"
                     "t = threading.Thread(target=l.acquire)\nt.start()\nl.release()\nt.join()")
        for tool in "bench", "sim", "sim-papers", "sim-validate", "check", "profile":
            yield tool, json.loads(self.read(tool + ".json"))

    def test_schemas_are_schemas_and_say_nothing_unknown(self):
        for path in glob.glob(os.path.join(FOLDER, "*.json")):
            tool = os.path.basename(path).split(".")[0]
            jsonschema.Draft7Validator.check_schema(schema_of(tool))
            self.assertLessEqual(set(words_of(schema_of(tool))), KNOWN, path)

    def test_what_tools_write_fits_and_what_lacks_something_does_not(self):
        for tool, document in self.documents():
            validator(tool).validate(document)
            for name in schema_of(tool)["required"]:
                spoilt = dict(document)
                del spoilt[name]
                self.assertFalse(validator(tool).is_valid(spoilt), (tool, name))

    def test_published_results_fit(self):
        for path in glob.glob(os.path.join(command.ROOT, "data", "**", "*.json"),
                              recursive=True):
            with open(path) as file:
                document = json.load(file)
            if "tool" in document and os.path.exists(
                    os.path.join(FOLDER, document["tool"] + ".schema.json")):
                validator(document["tool"]).validate(document)

    def spoil(self, document, choose):
        """A copy with something left out, or of another kind."""
        document = copy.deepcopy(document)
        path = choose.choice([place for place in places(document) if place])
        inside, key = at(document, path[:-1]), path[-1]
        if choose.random() < 0.4:
            del inside[key]
        else:
            inside[key] = choose.choice([None, True, -1, 0, 2.5, "", "text", [], {}, [1], {"a": 1}])
        return path, document

    def test_our_reader_and_another_agree(self):
        """Of many spoilt documents, what jsonschema finds wrong pawl report refuses, and
        only that."""
        choose = random.Random(1)
        refused = 0
        for tool, document in self.documents():
            if tool in ("check", "sim-validate"):
                continue  # of which there is nothing to show
            for _ in range(60):
                path, spoilt = self.spoil(document, choose)
                if path[0] in ("schema", "tool"):
                    continue  # which are looked at before
                self.write("r.json", json.dumps(spoilt))
                done = self.run_pawl("report", "r.json", "-o", "r.html")
                fits = validator(tool).is_valid(spoilt)
                says = "does not match the schema of 'pawl" in done.stderr
                self.assertEqual(fits, not says, f"{tool}, {path}: {done.stderr}")
                self.assertEqual(done.stderr.count("\n"), int(says or done.returncode == 2))
                refused += says
        self.assertGreater(refused, 40)


if __name__ == "__main__":
    command.main()
