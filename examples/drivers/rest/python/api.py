"""A client of the API: its requests, and the meaning of the responses. Everything that is specific to
your API belongs here."""

from dataclasses import asdict, dataclass
from typing import Any

from purlin_driver import Call, Failed, Pending, Problem, Undecided
from purlin_driver.rest import Answer, Client, segment
from schema import Connection, ProjectOutputs, Values

#: The parts of a project that the driver needs, in the order of `ProjectOutputs`.
FIELDS = ("id", "name", "region", "size")
#: What `status` is while the API works on a project. Raise `Failed` if it says that this went wrong.
BUSY = ("creating", "updating", "deleting")


@dataclass
class Found:
    """A project of the API."""

    outputs: ProjectOutputs
    owner: str | None
    #: The milliseconds after which it makes sense to look again, if the API still works on the project.
    pending_ms: int | None


class Api:
    """A client for one call of the driver."""

    def __init__(self, connection: Connection, call: Call):
        headers = {"authorization": f"Bearer {connection.token}"}
        self.client = Client(connection.server, call, headers)

    def create(self, wanted: Values, owner: str) -> Found:
        """Creates a project. Its token is shown only now. The key makes it safe to send this twice."""
        body = {**asdict(wanted), "owner": owner}
        answer = self.client.send("POST", "/projects", body, keyed=True).success()
        return complete(answer, answer.json(), Undecided)

    def get(self, id: str) -> Found | None:
        answer = self.client.send("GET", f"/projects/{segment(id)}")
        return None if answer.status == 404 else complete(answer, answer.success().json(), Failed)

    def find(self, name: str, owner: str, known: list[str]) -> Found | None:
        """Looks for a project of this resource by its name, in all pages of the list. Ids in `known`
        belong to others."""
        query, seen = {"name": name}, None
        while True:
            answer = self.client.send("GET", "/projects", query=query).success()
            page = answer.json()
            # A page without any may have null. A list that lacks the field is not one.
            if not isinstance(page, dict) or not isinstance(page.get("items", ...), list | None):
                raise Failed("the API answered a list without `items`", answer.details())
            for item in page["items"] or []:
                found = complete(answer, item, Failed)
                its = found.outputs
                if its.name == name and found.owner == owner and its.id not in known:
                    return found
            # APIs end a list without `after`, with null, with an empty text, or with the same `after` again.
            after = page.get("after")
            if after in (None, "", seen):
                return None
            seen = query["after"] = after

    def update(self, id: str, wanted: Values) -> Found:
        """Changes a project in place."""
        body = {"size": wanted.size}
        answer = self.client.send("PATCH", f"/projects/{segment(id)}", body, keyed=True).success()
        return complete(answer, answer.json(), Undecided)

    def delete(self, id: str) -> None:
        """Deletes a project. A missing project is a success. APIs may answer before a project is gone, so
        until it cannot be read any more it is pending: Purlin calls again."""
        answer = self.client.send("DELETE", f"/projects/{segment(id)}")
        if answer.status == 404:
            return
        if answer.success().status == 202 or self.get(id) is not None:
            raise Pending(answer.after_ms(), "it still exists")


def complete(answer: Answer, project: Any, kind: type[Problem]) -> Found:
    """A project with everything that the driver needs. If a part is missing, the failure is of this kind:
    a request with effects was carried out, so Purlin has to determine what exists."""
    if not isinstance(project, dict):
        raise kind("the API answered no project", answer.details())
    for name in FIELDS:
        if project.get(name) is None:
            raise kind(f"the API answered a project without `{name}`", answer.details())
    its = ProjectOutputs(*[project[name] for name in FIELDS])
    busy = answer.status == 202 or project.get("status") in BUSY
    its.token = project.get("token")
    return Found(its, project.get("owner"), answer.after_ms() if busy else None)
