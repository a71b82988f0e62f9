"""The command lines about groups: consumers in groups, and what Kafka's tools tell of groups and do to them.

In the order in which they run; commands.py says what a command is. `{resets}` is a file of offsets to go to.
"""

from __future__ import annotations

from compat_tests.kafka_tools.command import CONSOLE_CONSUMER, CONSOLE_PRODUCER, SERVER, TOOLS, Command, settled_topic

GROUPS = TOOLS + "consumer.group.ConsumerGroupCommand"
GROUP_LISTING = TOOLS + "GroupsCommand"
TOPICS = TOOLS + "TopicCommand"
HELD = "HeldMember"

PROTOCOLS = ("classic", "consumer")
RECORDS = "".join(f"key-{number}:value-{number}\n" for number in range(20))
RESETS = "grouped,0,1\ngrouped,1,2\n"
IN_FULL = "--from-beginning --timeout-ms 60000 "
# What a tool says of how fast it was, and nothing that depends on it.
PERFORMANCE = r"^(start\.time|\d{4}-)"
# A stack trace follows, which is not the same from run to run.
REFUSED = "^Error: "
# A client that is told of its partitions before it has heard of their topic says first that it was assigned none.
VERIFIED = r'"name":"(startup_complete"|shutdown_complete"|partitions_(assigned|revoked)","partitions":\[\{)'


def group_command(name: str, line: str, *, only: str = "") -> Command:
    """What is asked of groups comes in the order of Java's hash tables."""
    return Command(f"groups_{name}", GROUPS, SERVER + line, only=only, is_unordered=True)


READING_COMMANDS = (
    Command("", TOPICS, SERVER + "--create --topic grouped --partitions 2"),
    Command("", TOPICS, SERVER + "--create --topic alone --partitions 1"),
    settled_topic("grouped", 2),
    settled_topic("alone", 1),
    Command(
        "",
        CONSOLE_PRODUCER,
        SERVER + "--topic grouped --reader-property parse.key=true --reader-property key.separator=:",
        RECORDS,
    ),
    Command("", CONSOLE_PRODUCER, SERVER + "--topic alone", "a\nb\nc\n"),
    *(
        Command(
            f"console_consumer_{protocol}",
            CONSOLE_CONSUMER,
            SERVER + f"--topic grouped --group console-{protocol} --max-messages 20 {IN_FULL}"
            f"--command-property group.protocol={protocol}",
            is_unordered=True,
        )
        for protocol in PROTOCOLS
    ),
    Command(
        "console_consumer_that_has_read_all",
        CONSOLE_CONSUMER,
        SERVER + "--topic grouped --group console-classic --from-beginning --timeout-ms 2000",
        only="^Processed",
    ),
    Command(
        "console_consumer_by_pattern",
        CONSOLE_CONSUMER,
        SERVER + "--include alon. --group console-pattern --max-messages 3 " + IN_FULL,
    ),
    *(
        Command(
            f"consumer_performance_{protocol}",
            TOOLS + "ConsumerPerformance",
            SERVER + f"--topic grouped --num-records 20 --group perf-{protocol} --timeout 60000 "
            f"--command-property group.protocol={protocol}",
            only=PERFORMANCE,
        )
        for protocol in PROTOCOLS
    ),
    *(
        Command(
            f"verifiable_consumer_{protocol}",
            TOOLS + "VerifiableConsumer",
            SERVER + f"--topic grouped --max-messages 20 --group-id verified-{protocol} --group-protocol {protocol}",
            only=VERIFIED,
        )
        for protocol in PROTOCOLS
    ),
    *(
        group_command(f"describe_verified_{protocol}", f"--describe --group verified-{protocol}")
        for protocol in PROTOCOLS
    ),
)

LISTING_COMMANDS = (
    *(Command("", HELD, f"{{bootstrap}} start held-{protocol} {protocol} grouped") for protocol in PROTOCOLS),
    group_command("list", "--list"),
    group_command("list_states", "--list --state"),
    group_command("list_empty", "--list --state empty"),
    group_command("list_stable_or_dead", "--list --state stable,dead"),
    group_command("list_types", "--list --type"),
    group_command("list_of_the_new_type", "--list --type consumer"),
    group_command("list_classic_with_states", "--list --type classic --state stable"),
    group_command("list_no_such_state", "--list --state upside-down", only="^$"),
    *(
        Command(f"groups_of_all_kinds{name}", GROUP_LISTING, SERVER + f"--list {line}", is_unordered=True)
        for name, line in (
            ("", ""),
            ("_of_consumers", "--consumer"),
            ("_classic", "--group-type classic"),
            ("_new", "--group-type consumer"),
            ("_by_protocol", "--protocol consumer"),
            ("_by_both", "--group-type classic --protocol consumer"),
            ("_share", "--share"),
        )
    ),
    Command("groups_validate_regex", GROUPS, "--validate-regex a+b"),
    Command("groups_validate_wrong_regex", GROUPS, "--validate-regex a(?=b)"),
)

DESCRIBING_COMMANDS = (
    *(
        group_command(f"describe_{name}_{protocol}", f"--describe --group held-{protocol} {line}")
        for protocol in PROTOCOLS
        for name, line in (
            ("lag", ""),
            ("offsets", "--offsets --verbose"),
            ("members", "--members"),
            ("members_verbose", "--members --verbose"),
            ("state", "--state"),
            ("state_verbose", "--state --verbose"),
        )
    ),
    group_command("describe_all", "--describe --all-groups"),
    group_command("describe_all_states", "--describe --all-groups --state"),
    group_command("describe_all_members", "--describe --all-groups --members"),
    group_command("describe_two", "--describe --group held-classic --group console-consumer"),
    group_command("describe_unknown", "--describe --group nobody", only=REFUSED),
    group_command("describe_members_of_unknown", "--describe --group nobody --members", only=REFUSED),
    group_command("describe_empty", "--describe --group console-classic"),
    group_command("describe_empty_members", "--describe --group console-consumer --members"),
    group_command("describe_empty_state", "--describe --group console-consumer --state"),
)

ACTIVE_COMMANDS = (
    *(
        group_command(f"{name}_active_{protocol}", f"--group held-{protocol} {line}")
        for protocol in PROTOCOLS
        for name, line in (
            ("reset", "--reset-offsets --topic grouped --to-earliest --execute"),
            ("delete", "--delete"),
            ("delete_offsets", "--delete-offsets --topic grouped"),
            ("delete_other_offsets", "--delete-offsets --topic alone"),
        )
    ),
    *(Command("", HELD, f"{{bootstrap}} stop held-{protocol}") for protocol in PROTOCOLS),
)


def reset(name: str, group: str, line: str) -> Command:
    return group_command(f"reset_{name}", f"--reset-offsets --group {group} {line}")


# Each plans first, for a group of each protocol; what is executed shows in the next plan.
WAYS = (
    ("to_earliest", "--to-earliest"),
    ("to_latest", "--to-latest"),
    ("to_current", "--to-current"),
    ("to_offset", "--to-offset 4"),
    ("to_offset_too_far", "--to-offset 4000"),
    ("shift_forward", "--shift-by 3"),
    ("shift_back", "--shift-by -3"),
    ("to_the_past", "--to-datetime 2020-01-01T00:00:00.000"),
    ("to_the_future", "--to-datetime 2090-01-01T00:00:00.000"),
    ("by_a_long_duration", "--by-duration P4000D"),
    ("by_no_duration", "--by-duration PT0S"),
)

RESETTING_COMMANDS = (
    *(
        reset(f"{name}_planned_{protocol}", f"held-{protocol}", f"--topic grouped {way} --dry-run")
        for protocol in PROTOCOLS
        for name, way in WAYS
    ),
    *(reset(f"{name}_executed", "held-classic", f"--topic grouped {way} --execute") for name, way in WAYS),
    reset("consumer_to_offset_executed", "held-consumer", "--topic grouped --to-offset 2 --execute"),
    reset("described", "held-consumer", "--topic grouped --to-current"),
    reset("of_one_partition", "held-classic", "--topic grouped:1 --to-offset 3 --execute"),
    reset("of_two_partitions", "held-classic", "--topic grouped:0,1 --to-offset 2 --execute"),
    reset("of_two_topics", "held-classic", "--topic grouped:0 --topic alone --to-earliest --execute"),
    reset("of_all_topics", "held-classic", "--all-topics --shift-by 1 --execute"),
    reset("of_unknown_partition", "held-classic", "--topic grouped:9 --to-earliest"),
    reset("of_unknown_topic", "held-classic", "--topic nowhere --to-earliest"),
    reset("exported", "held-classic", "--all-topics --to-current --dry-run --export"),
    reset("from_file", "held-classic", "--from-file {resets} --execute"),
    reset("from_file_planned", "held-consumer", "--from-file {resets} --dry-run"),
    reset("of_new_group", "newcomer", "--topic grouped --to-latest --execute"),
    reset("of_new_group_again", "newcomer", "--topic grouped --to-current"),
    reset("without_scope", "held-classic", "--to-earliest"),
    reset("without_way", "held-classic", "--topic grouped"),
    group_command("reset_all_groups", "--reset-offsets --all-groups --all-topics --to-latest --execute"),
    group_command(
        "reset_all_groups_exported", "--reset-offsets --all-groups --all-topics --to-earliest --export --dry-run"
    ),
    group_command("describe_after_all", "--describe --all-groups --offsets"),
)

DELETING_COMMANDS = (
    group_command("delete_offsets_of_partition", "--delete-offsets --group held-classic --topic grouped:0"),
    group_command("delete_offsets_of_unknown", "--delete-offsets --group held-classic --topic nowhere"),
    group_command("delete_offsets_of_unknown_group", "--delete-offsets --group nobody --topic grouped"),
    group_command("describe_what_is_left", "--describe --group held-classic"),
    group_command("delete_one", "--delete --group held-consumer"),
    group_command("delete_unknown", "--delete --group nobody"),
    group_command("delete_two", "--delete --group held-classic --group nobody"),
    group_command("describe_deleted", "--describe --group held-classic", only=REFUSED),
    group_command("delete_all", "--delete --all-groups"),
    group_command("list_nothing", "--list"),
    # Last, since it makes up the name of a group.
    Command(
        "console_consumer_from_beginning",
        CONSOLE_CONSUMER,
        SERVER + "--topic grouped --max-messages 20 " + IN_FULL,
        is_unordered=True,
    ),
)

GROUP_COMMANDS = (
    *READING_COMMANDS,
    *LISTING_COMMANDS,
    *DESCRIBING_COMMANDS,
    *ACTIVE_COMMANDS,
    *RESETTING_COMMANDS,
    *DELETING_COMMANDS,
)
