"""The log, the same in every run: memory that grows with a cache, until processes are killed."""

MIB_LIMIT = 2048


def log_text() -> str:
    """Return the lines, oldest first."""
    lines = [
        "2025-03-03T08:55:02Z deploy  release 4.2 rolled out: sessions in process, not in Redis",
        "2025-03-03T08:55:40Z shop-1  started, release 4.2, memory limit 2048 MiB",
        "2025-03-03T08:55:41Z shop-2  started, release 4.2, memory limit 2048 MiB",
    ]
    for number in range(1, 11):
        minute = 55 + number * 5
        clock = f"2025-03-03T{8 + minute // 60:02}:{minute % 60:02}:11Z"
        entries, memory = 1_200 + number * 18_900, 260 + number * 175
        lines += [
            f"{clock} {shop}  session cache: {entries:,} entries, 0 evicted; {memory} MiB"
            for shop in ("shop-1", "shop-2")
        ]
    lines += [
        f"2025-03-03T09:46:58Z kernel  shop-2 over its limit of {MIB_LIMIT} MiB, killed process 71",
        "2025-03-03T09:47:03Z proxy   502 for 48 % of requests",
        "2025-03-03T09:47:30Z shop-2  started, release 4.2",
        f"2025-03-03T09:49:12Z kernel  shop-1 over its limit of {MIB_LIMIT} MiB, killed process 64",
        "2025-03-03T09:49:15Z proxy   502 for 97 % of requests",
        "2025-03-03T10:29:50Z deploy  rolled back to release 4.1",
        "2025-03-03T10:31:04Z proxy   502 for 0 % of requests",
    ]
    return "\n".join(sorted(lines)) + "\n"
