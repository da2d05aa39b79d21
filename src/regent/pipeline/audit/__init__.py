"""The audit: what a history must not show, rule by rule, with evidence (Q4)."""

from regent.pipeline.audit.rules import RULES, violations

__all__ = ["RULES", "violations"]
