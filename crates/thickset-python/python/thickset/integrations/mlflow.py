"""MLflow: an audit's figures, `audit.json` and report in a run, and an evaluator for `mlflow.models.evaluate`.

>>> audit.log_to_mlflow()                                              # doctest: +SKIP
>>> mlflow.models.evaluate(uri, data, targets="y", evaluators="thickset")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thickset._errors import ThicksetImportError

if TYPE_CHECKING:
    from thickset._results import Audit

try:
    import mlflow
except ImportError as error:
    raise ThicksetImportError("this needs the package `mlflow`: pip install mlflow") from error


def log_audit(audit: Audit, prefix: str = "thickset") -> dict[str, float]:
    """Logs every figure with the ends of its interval as metrics, and `audit.json` and the report as artifacts."""
    metrics: dict[str, float] = {}
    for name, figure in audit.figures.items():
        metrics[f"{prefix}.{name}"] = figure["value"]
        for end in ("low", "high"):
            if figure[end] is not None:
                metrics[f"{prefix}.{name}.{end}"] = figure[end]
    mlflow.log_metrics(metrics)
    mlflow.log_text(audit.to_bytes().decode(), f"{prefix}/audit.json")
    mlflow.log_text(audit.to_html(), f"{prefix}/report.html")
    mlflow.set_tag(f"{prefix}.gate", "holds" if audit.passed else "fails")
    return metrics


def __getattr__(name: str) -> Any:
    # The evaluator's base class is in full MLflow only, not in its slim package.
    if name == "ThicksetEvaluator":
        return _evaluator()
    raise AttributeError(name)


def _evaluator() -> Any:
    from mlflow.models.evaluation import EvaluationResult, ModelEvaluator

    result: Any = EvaluationResult

    class ThicksetEvaluator(ModelEvaluator):  # type: ignore[misc, unused-ignore]
        """Audits the explanations of a thickset estimator that was logged with `mlflow.sklearn`."""

        @classmethod
        def can_evaluate(cls, *, model_type: str, evaluator_config: Any, **_: Any) -> bool:
            return model_type == "classifier"

        def evaluate(self, *, model_type: str, dataset: Any, run_id: str, evaluator_config: Any, model: Any = None, **_: Any) -> Any:
            from thickset._functions import audit

            estimator = model._model_impl
            estimator = getattr(estimator, "sklearn_model", estimator)
            settings = dict(evaluator_config or {})
            found = audit(estimator, dataset.features_data, dataset.labels_data, **settings)
            with mlflow.start_run(run_id=run_id, nested=True):
                metrics = log_audit(found)
            return result(metrics=metrics, artifacts={})

    return ThicksetEvaluator
