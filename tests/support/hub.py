"""A hub of Hugging Face's on this machine: repositories as dictionaries, behind the addresses that its client asks."""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit


@dataclass
class FakeHub:
    """What it has and what it was asked.

    Attributes:
        commits: by "owner/repo", each commit's files; the last one is the newest.
        refused: by "owner/repo", the code of the refusal instead, such as "GatedRepo".
        endpoint: its URL.
        asked: method and path of every request.
    """

    commits: dict[str, dict[str, Mapping[str, bytes]]]
    refused: Mapping[str, str] = field(default_factory=dict)
    endpoint: str = ""
    asked: list[str] = field(default_factory=list)

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        if path.startswith("/api/models/"):
            owner, name, *rest = path.removeprefix("/api/models/").split("/")
            return self._described(f"{owner}/{name}", unquote("/".join(rest[1:])) or "main")
        if path.split("/")[3:4] != ["resolve"]:
            return 404, {}, b""  # what else its client would like to know
        owner, name, _, revision, *file = path.removeprefix("/").split("/")
        return self._file(f"{owner}/{name}", unquote(revision), unquote("/".join(file)))

    def _commit(self, repo: str, revision: str) -> tuple[str, str]:
        """The commit, or the code of an error."""
        if repo in self.refused:
            return "", self.refused[repo]
        if repo not in self.commits:
            return "", "RepoNotFound"
        commits = self.commits[repo]
        found = list(commits)[-1] if revision == "main" else revision
        return (found, "") if found in commits else ("", "RevisionNotFound")

    def _described(self, repo: str, revision: str) -> tuple[int, dict[str, str], bytes]:
        commit, error = self._commit(repo, revision)
        if error:
            return _refusal(error)
        files = [{"rfilename": name} for name in self.commits[repo][commit]]
        body = {"_id": "1", "id": repo, "sha": commit, "siblings": files, "tags": [], "private": False}
        return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()

    def _file(self, repo: str, revision: str, file: str) -> tuple[int, dict[str, str], bytes]:
        commit, error = self._commit(repo, revision)
        if not error and file not in self.commits[repo][commit]:
            error = "EntryNotFound"
        if error:
            return _refusal(error, **({"X-Repo-Commit": commit} if commit else {}))
        body = self.commits[repo][commit][file]
        return 200, {"ETag": f'"{hashlib.sha256(body).hexdigest()}"', "X-Repo-Commit": commit}, body


def _refusal(code: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    status = {"GatedRepo": 403, "RepoNotFound": 401, "Busy": 418}.get(code, 404)
    return status, {"X-Error-Code": code, "X-Error-Message": f"{code} of the fake", **headers}, b""


@contextmanager
def served(hub: FakeHub) -> Iterator[FakeHub]:
    """The hub on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            hub.asked.append(f"{self.command} {path}")
            status, headers, body = hub.answer(path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.do_GET()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
