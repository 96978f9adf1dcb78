"""The head of a model card: YAML that model hubs read, safe whatever a file's metadata say."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from converters.folder.license import License

_REPOSITORY = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
MOST_BASE_MODELS = 16


def front_matter(metadata: Mapping[str, Any], tags: list[str]) -> str:
    """Between lines of three dashes; texts are quoted as JSON does it, which YAML reads the same."""
    lines = [*_license(License.of(metadata)), *_list("base_model", list(base_models(metadata)))]
    lines += ["library_name: onnx", "pipeline_tag: text-generation", *_list("tags", tags)]
    return "\n".join(["---", *lines, "---", ""])


def base_models(metadata: Mapping[str, Any]) -> Iterator[str]:
    """The repositories "owner/name" that a file names as those that the model was made from."""
    for i in range(MOST_BASE_MODELS):
        url = metadata.get(f"general.base_model.{i}.repo_url")
        if not isinstance(url, str):
            continue
        try:
            path = urlsplit(url).path.strip("/")
        except ValueError:  # brackets that are no address
            continue
        if _REPOSITORY.fullmatch(path):
            yield path


def _license(license: License) -> list[str]:
    if license.is_identifier and license.identifier is not None:
        lines = [f"license: {_quoted(license.identifier.lower())}"]
    elif license.identifier or license.name:
        lines = ["license: other", f"license_name: {_quoted(license.name or license.identifier or '')}"]
    else:
        return []
    return [*lines, *([f"license_link: {_quoted(license.safe_link)}"] if license.safe_link else [])]


def _list(key: str, values: list[str]) -> list[str]:
    return [f"{key}:", *(f"- {_quoted(value)}" for value in values)] if values else []


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
