# /// script
# dependencies = ["huggingface_hub"]
# ///
"""Makes 1,000 model cards with results of evaluations, saves them as Markdown, and parses them again."""

from huggingface_hub import EvalResult, ModelCard, ModelCardData

seen = set()
for number in range(1000):
    results = [EvalResult(task_type="text-classification", dataset_type="sst2", dataset_name="SST2",
                          metric_type="accuracy", metric_value=number / 1000)]  # fmt: skip
    data = ModelCardData(language="en", license="mit", model_name=f"model {number}", eval_results=results)
    card = ModelCard(f"---\n{data.to_yaml()}\n---\n\n# Model {number}\n\n" + "text " * 100)
    seen.add((card.data.model_name, card.data.eval_results[0].metric_value))
assert seen == {(f"model {number}", number / 1000) for number in range(1000)}
print(len(seen))
