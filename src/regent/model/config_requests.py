"""What callers ask about the configs of topics and brokers, and what is answered."""

from enum import IntEnum

from msgspec import Struct

from regent.model.error_codes import ErrorCode


class ResourceType(IntEnum):
    """What can be configured; the numbers are Kafka's. Requests may have others."""

    TOPIC = 2
    BROKER = 4


class ConfigSource(IntEnum):
    """Where a value comes from; the numbers are Kafka's."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class ConfigType(IntEnum):
    """How the text of a value is meant; the numbers are Kafka's."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigOperation(IntEnum):
    """What shall become of one config; the numbers are Kafka's. Requests may have others."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigResource(Struct, frozen=True):
    """A topic, a broker, or (a broker without a name) all brokers."""

    #: One of `ResourceType`, or whatever a caller sent.
    kind: int
    name: str


# --- describing ---------------------------------------------------------------------------------


class ConfigQuestion(Struct, frozen=True):
    """The configs of one resource: those named, or with None all."""

    resource: ConfigResource
    names: tuple[str, ...] | None = None


class DescribeConfigs(Struct, frozen=True):
    """Say how these resources are configured."""

    questions: tuple[ConfigQuestion, ...]
    with_synonyms: bool = False
    with_documentation: bool = False


class ConfigSynonym(Struct, frozen=True):
    """One place where a value is set; the first of a list counts."""

    name: str
    value: str | None
    source: int


class ConfigEntry(Struct, frozen=True):
    """One config and its value."""

    name: str
    value: str | None
    source: int
    is_read_only: bool = False
    #: Its value is not told.
    is_sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    kind: int = ConfigType.UNKNOWN
    documentation: str | None = None


class ConfigDescription(Struct, frozen=True):
    """The configs of one resource, or why they cannot be told."""

    resource: ConfigResource
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    entries: tuple[ConfigEntry, ...] = ()


class DescribeConfigsAnswer(Struct, frozen=True):
    """One description for each resource."""

    results: tuple[ConfigDescription, ...] = ()


# --- altering -----------------------------------------------------------------------------------


class ConfigReplacement(Struct, frozen=True):
    """All that shall be set on one resource; what is not named is set no more."""

    resource: ConfigResource
    configs: tuple[tuple[str, str | None], ...]


class AlterConfigs(Struct, frozen=True):
    """Replace the configs of resources, or only say whether that could be done."""

    replacements: tuple[ConfigReplacement, ...]
    validate_only: bool = False


class ConfigChange(Struct, frozen=True):
    """What shall become of one config."""

    name: str
    #: One of `ConfigOperation`, or whatever a caller sent.
    operation: int
    value: str | None = None


class ConfigChanges(Struct, frozen=True):
    """The changes of one resource; what is not named stays."""

    resource: ConfigResource
    changes: tuple[ConfigChange, ...]


class IncrementalAlterConfigs(Struct, frozen=True):
    """Change some configs of resources, or only say whether that could be done."""

    alterations: tuple[ConfigChanges, ...]
    validate_only: bool = False


class ConfigResult(Struct, frozen=True):
    """What became of one resource."""

    resource: ConfigResource
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


class AlterConfigsAnswer(Struct, frozen=True):
    """One result for each resource, whichever way it was altered."""

    results: tuple[ConfigResult, ...] = ()
