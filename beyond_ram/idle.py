"""Let Snakemake's scheduler rest while a run is measured."""

from typing import Any

# Snakemake's own default of --max-jobs-per-timespan: jobs, and seconds.
_DEFAULT = (100, 1)


def stay_idle(workflow: Any) -> None:
    """Have the scheduler of a local call look for jobs to start when a job has ended, and at no other time.

    With a bound on jobs per timespan (100 a second by default) Snakemake 9 asks itself a timespan after every look
    whether there is room again, and every job that ends begins another such chain of looks. Each goes over all jobs
    that are ready and solves which to start: with 160 of them that took half a core, beside what was weighed. A bound
    that the user has given stays, and so does that of a cluster.
    """
    scheduler = workflow.scheduler
    limit = getattr(scheduler, "job_rate_limiter", None)
    if workflow.local_exec and limit and (limit.max_jobs, limit.timespan) == _DEFAULT:
        scheduler.job_rate_limiter = None
