"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs, to and from the model.

kio has the messages, but for the oldest version of DescribeConfigs, which stands here.
"""

from typing import Any, Final

from regent.model.config_requests import (
    AlterConfigs,
    AlterConfigsAnswer,
    ConfigChange,
    ConfigChanges,
    ConfigDescription,
    ConfigEntry,
    ConfigQuestion,
    ConfigReplacement,
    ConfigResource,
    ConfigResult,
    ConfigSource,
    ConfigSynonym,
    ConfigType,
    DescribeConfigs,
    DescribeConfigsAnswer,
    IncrementalAlterConfigs,
)
from regent.wire.apis import ApiKey
from regent.wire.message_tables import Items, Values, WireField, WireMessage
from regent.wire.values import NOT_THROTTLED, from_kio_error, to_kio_error

# fmt: off
_API: Final = ApiKey.DESCRIBE_CONFIGS
DESCRIBE_REQUEST: Final = WireMessage("DescribeConfigsRequest", _API, (0, 0), 4, (
    WireField("resources",               Items("DescribeConfigsResource", (
        WireField("resource_type",       "int8"),
        WireField("resource_name",       "string"),
        WireField("configuration_keys",  "[]string", is_nullable=True),
    ))),
))
DESCRIBE_RESPONSE: Final = WireMessage("DescribeConfigsResponse", _API, (0, 0), 4, (
    WireField("throttle_time",           "timedelta_i32"),
    WireField("results",                 Items("DescribeConfigsResult", (
        WireField("error_code",          "error_code"),
        WireField("error_message",       "string", is_nullable=True),
        WireField("resource_type",       "int8"),
        WireField("resource_name",       "string"),
        WireField("configs",             Items("DescribeConfigsResourceResult", (
            WireField("name",            "string"),
            WireField("value",           "string", is_nullable=True),
            WireField("read_only",       "bool"),
            WireField("is_default",      "bool"),
            WireField("is_sensitive",    "bool"),
        ))),
    ))),
))
# fmt: on


# --- DescribeConfigs ----------------------------------------------------------------------------


def question_values(request: DescribeConfigs) -> Values:
    """The content for all versions."""
    return {
        "resources": [
            {**_resource_values(question.resource), "configuration_keys": question.names}
            for question in request.questions
        ],
        "include_synonyms": request.with_synonyms,
        "include_documentation": request.with_documentation,
    }


def question_from(payload: Any) -> DescribeConfigs:
    """What `question_values` wrote."""
    return DescribeConfigs(
        questions=tuple(
            ConfigQuestion(
                _resource_from(entry),
                None if entry.configuration_keys is None else tuple(entry.configuration_keys),
            )
            for entry in payload.resources
        ),
        with_synonyms=getattr(payload, "include_synonyms", False),
        with_documentation=getattr(payload, "include_documentation", False),
    )


def description_values(answer: DescribeConfigsAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "results": [
            {
                "error_code": to_kio_error(result.error),
                "error_message": result.message,
                **_resource_values(result.resource),
                "configs": list(map(_entry_values, result.entries)),
            }
            for result in answer.results
        ],
    }


def _entry_values(entry: ConfigEntry) -> Values:
    """Version 0 said only whether a value is the default."""
    return {
        "name": entry.name,
        "value": entry.value,
        "read_only": entry.is_read_only,
        "is_default": entry.source == ConfigSource.DEFAULT,
        "config_source": int(entry.source),
        "is_sensitive": entry.is_sensitive,
        "synonyms": [
            {"name": synonym.name, "value": synonym.value, "source": int(synonym.source)}
            for synonym in entry.synonyms
        ],
        "config_type": int(entry.kind),
        "documentation": entry.documentation,
    }


def description_from(payload: Any) -> DescribeConfigsAnswer:
    """What `description_values` wrote."""
    return DescribeConfigsAnswer(
        tuple(
            ConfigDescription(
                _resource_from(result),
                from_kio_error(result.error_code),
                result.error_message,
                tuple(map(_entry_from, result.configs)),
            )
            for result in payload.results
        )
    )


def _entry_from(entry: Any) -> ConfigEntry:
    if hasattr(entry, "is_default"):
        source: int = ConfigSource.DEFAULT if entry.is_default else 0
    else:
        source = entry.config_source
    return ConfigEntry(
        name=entry.name,
        value=entry.value,
        source=source,
        is_read_only=entry.read_only,
        is_sensitive=entry.is_sensitive,
        synonyms=tuple(
            ConfigSynonym(synonym.name, synonym.value, synonym.source)
            for synonym in getattr(entry, "synonyms", ())
        ),
        kind=getattr(entry, "config_type", ConfigType.UNKNOWN),
        documentation=getattr(entry, "documentation", None),
    )


# --- AlterConfigs and IncrementalAlterConfigs ---------------------------------------------------


def replacement_values(request: AlterConfigs) -> Values:
    """The content for all versions."""
    return {
        "resources": [
            {
                **_resource_values(each.resource),
                "configs": [{"name": name, "value": value} for name, value in each.configs],
            }
            for each in request.replacements
        ],
        "validate_only": request.validate_only,
    }


def replacement_from(payload: Any) -> AlterConfigs:
    """What `replacement_values` wrote."""
    return AlterConfigs(
        replacements=tuple(
            ConfigReplacement(
                _resource_from(entry), tuple((each.name, each.value) for each in entry.configs)
            )
            for entry in payload.resources
        ),
        validate_only=payload.validate_only,
    )


def alteration_values(request: IncrementalAlterConfigs) -> Values:
    """The content for all versions."""
    return {
        "resources": [
            {
                **_resource_values(each.resource),
                "configs": [
                    {
                        "name": change.name,
                        "config_operation": int(change.operation),
                        "value": change.value,
                    }
                    for change in each.changes
                ],
            }
            for each in request.alterations
        ],
        "validate_only": request.validate_only,
    }


def alteration_from(payload: Any) -> IncrementalAlterConfigs:
    """What `alteration_values` wrote."""
    return IncrementalAlterConfigs(
        alterations=tuple(
            ConfigChanges(
                _resource_from(entry),
                tuple(
                    ConfigChange(each.name, each.config_operation, each.value)
                    for each in entry.configs
                ),
            )
            for entry in payload.resources
        ),
        validate_only=payload.validate_only,
    )


def result_values(answer: AlterConfigsAnswer) -> Values:
    """The content of both answers, for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "responses": [
            {
                "error_code": to_kio_error(result.error),
                "error_message": result.message,
                **_resource_values(result.resource),
            }
            for result in answer.results
        ],
    }


def result_from(payload: Any) -> AlterConfigsAnswer:
    """What `result_values` wrote."""
    return AlterConfigsAnswer(
        tuple(
            ConfigResult(
                _resource_from(entry), from_kio_error(entry.error_code), entry.error_message
            )
            for entry in payload.responses
        )
    )


# --- resources ----------------------------------------------------------------------------------


def _resource_values(resource: ConfigResource) -> Values:
    return {"resource_type": int(resource.kind), "resource_name": resource.name}


def _resource_from(entry: Any) -> ConfigResource:
    return ConfigResource(entry.resource_type, entry.resource_name)
