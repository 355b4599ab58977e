"""The manifest for KubeRay, checked against the schema of its resource; an unknown field is an error."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from ecphora.settings import ENV_VARIABLES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "packaging" / "kuberay"


def closed(schema: Any) -> Any:
    """A schema in which an object has only the fields that are listed; Kubernetes would drop others silently."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    is_open = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict) and not is_open:
        found["additionalProperties"] = False
    return found


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(closed(json.loads((FOLDER / "rayservice.schema.json").read_text(encoding="utf-8"))))


@pytest.fixture
def manifest() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((FOLDER / "rayservice.yaml").read_text(encoding="utf-8"))
    return read


def containers(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    cluster = manifest["spec"]["rayClusterConfig"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    return [one for group in groups for one in group["template"]["spec"]["containers"]]


def test_manifest_fits_the_schema(validator: Draft202012Validator, manifest: dict[str, Any]) -> None:
    assert (manifest["apiVersion"], manifest["kind"]) == ("ray.io/v1", "RayService")
    assert [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(manifest)] == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "serveConfig"), "applications: []"),
        (("spec", "serveConfigV2"), {"applications": []}),
        (("spec", "rayClusterConfig", "headGroupSpec", "template", "spec", "container"), []),
        (("spec", "rayClusterConfig", "workerGroupSpecs", 0, "minReplicas"), "2"),
        (("spec", "rayClusterConfig", "workerGroupSpecs", 0, "template", "spec", "containers", 0, "env", 0, "val"), ""),
    ],
)
def test_schema_refuses_mistakes(
    validator: Draft202012Validator, manifest: dict[str, Any], path: tuple[Any, ...], value: object
) -> None:
    changed = deepcopy(manifest)
    place: Any = changed
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    assert list(validator.iter_errors(changed))


def test_every_container_has_the_settings(manifest: dict[str, Any]) -> None:
    found = containers(manifest)
    assert len(found) == 2
    for one in found:
        values = {entry["name"]: entry.get("value") for entry in one["env"]}
        assert values["RAY_USAGE_STATS_ENABLED"] == "0"
        assert {name for name in values if name.startswith("ECPHORA_")} <= {
            name for names in ENV_VARIABLES.values() for name in names
        }
        targets = [values["RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH"]]
        applications = yaml.safe_load(manifest["spec"]["serveConfigV2"])["applications"]
        targets += [application["import_path"] for application in applications]
        for module, _, function in (target.partition(":") for target in targets):
            source = ROOT / "src" / f"{module.replace('.', '/')}.py"
            assert f"\ndef {function}(" in source.read_text(encoding="utf-8")
