"""A client of the API: its requests, and the meaning of the responses. Everything that is specific to
your API belongs here."""

from purlin_driver import Call, Failed, RetryAfter, Undecided
from purlin_driver.rest import Client, segment

#: The parts of a project that the driver needs.
FIELDS = ("id", "name", "region", "size")
#: Milliseconds to wait before looking again for a deleted project.
AGAIN = 1000


class Api:
    """A client for one call of the driver."""

    def __init__(self, connection: dict, call: Call):
        headers = {"authorization": f"Bearer {connection['token']}"}
        self.client = Client(connection["server"], call, headers)

    def create(self, wanted: dict, owner: str) -> dict:
        """Creates a project. Its token is shown only now. The key makes it safe to send this twice."""
        body = {**wanted, "owner": owner}
        created = self.client.send("POST", "/projects", body, keyed=True).success().json()
        return complete(created, Undecided)

    def get(self, id: str) -> dict | None:
        answer = self.client.send("GET", f"/projects/{segment(id)}")
        return None if answer.status == 404 else complete(answer.success().json(), Failed)

    def find(self, name: str, owner: str, known: list[str]) -> dict | None:
        """Looks for a project of this resource by its name, in all pages of the list. Ids in `known`
        belong to others."""
        query, seen = {"name": name}, None
        while True:
            page = self.client.send("GET", "/projects", query=query).success().json()
            for found in page["items"]:
                found = complete(found, Failed)
                if found["name"] == name and found.get("owner") == owner and found["id"] not in known:
                    return found
            # APIs end a list without `after`, with null, with an empty text, or with the same `after` again.
            after = page.get("after")
            if after in (None, "", seen):
                return None
            seen = query["after"] = after

    def update(self, id: str, wanted: dict) -> dict:
        """Changes a project in place."""
        body = {"size": wanted["size"]}
        answer = self.client.send("PATCH", f"/projects/{segment(id)}", body, keyed=True)
        return complete(answer.success().json(), Undecided)

    def delete(self, id: str) -> None:
        """Deletes a project. A missing project is a success. APIs may answer before a project is gone, so
        the answer counts only once the project cannot be read any more. Purlin calls again until then."""
        answer = self.client.send("DELETE", f"/projects/{segment(id)}")
        if answer.status != 404:
            answer.success()
        if self.get(id) is not None:
            raise RetryAfter(AGAIN, "it still exists")


def complete(project, kind) -> dict:
    """A project with everything that the driver needs. If a part is missing, the failure is of this kind:
    a request with effects was carried out, so Purlin has to determine what exists."""
    if not isinstance(project, dict):
        raise kind("the API answered no project")
    missing = [name for name in FIELDS if name not in project]
    if missing:
        raise kind(f"the API answered a project without `{missing[0]}`")
    return project
