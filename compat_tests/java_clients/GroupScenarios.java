import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Who has which partitions of a group, as members come, go, die, stop polling and come back. */
final class GroupScenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();
    /** Long enough for a busy machine, short enough to wait for. */
    static final int SESSION_TIMEOUT_MS = 4_000;

    static {
        for (String assignor : List.of("Range", "RoundRobin", "Sticky", "CooperativeSticky")) {
            ALL.put("members_come_and_go_" + assignor, world -> comeAndGo(world, assignor));
        }
        ALL.put("member_is_killed", world -> killed(world, "classic"));
        ALL.put("member_stops_polling", world -> stopsPolling(world, "classic"));
        ALL.put("static_members", world -> staticMembers(world, "classic"));
        ALL.put("static_member_is_fenced", world -> fenced(world, "classic"));
        ALL.put("topics_by_pattern", world -> byPattern(world, "classic"));
        ALL.put("topic_grows", world -> topicGrows(world, "classic"));
        ALL.put("members_of_several_topics", world -> severalTopics(world, "classic"));
        ALL.put("subscription_changes", world -> subscriptionChanges(world, "classic"));
        ALL.put("rebalance_is_enforced", world -> enforced(world, "classic"));
        ALL.put("members_that_do_not_fit", GroupScenarios::misfits);
    }

    private static void comeAndGo(World world, String assignor) throws Exception {
        String group = "go-" + assignor;
        List<String> topics = List.of(world.topic(group + "-x", 3), world.topic(group + "-y", 3));
        Object[] settings = {"partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor + "Assignor"};
        int more = assignor.equals("Range") ? 4 : 3;
        try (GroupMember first = GroupMember.of(world, group, "a", topics, settings)) {
            GroupMember.settle(first, 6);
            try (GroupMember second = GroupMember.of(world, group, "b", topics, settings)) {
                GroupMember.settle(first, more, second, 6 - more);
                world.say("the first of two", first.told());
                world.say("the second of two", second.told());
                world.say("told to the first", first.events());
                world.say("told to the second", second.events());
            }
            GroupMember.settle(first, 6);
            world.say("told to who stayed", first.events());
        }
    }

    static void killed(World world, String protocol) throws Exception {
        String group = "killed-" + protocol;
        String topic = world.topic(group, 4);
        Object[] settings = {"group.protocol", protocol};
        try (GroupMember first = GroupMember.of(world, group, "a", List.of(topic), settings)) {
            GroupMember.settle(first, 4);
            Process second = DoomedMember.start(world, protocol, world.prefix + group, topic, SESSION_TIMEOUT_MS);
            try {
                GroupMember.settle(first, 2);
                world.say("the second", DoomedMember.assignment(second, 2));
                world.say("the first of two", first.assignment().size());
            } finally {
                second.destroyForcibly();
            }
            GroupMember.settle(first, 4);
            world.say("who is left", first.told());
        }
    }

    static void stopsPolling(World world, String protocol) throws Exception {
        String group = "stops-" + protocol;
        String topic = world.topic(group, 2);
        Object[] settings = {"group.protocol", protocol};
        Object[] hasty = {"group.protocol", protocol, "max.poll.interval.ms", 5_000};
        try (GroupMember first = GroupMember.of(world, group, "a", List.of(topic), settings);
                GroupMember second = GroupMember.of(world, group, "b", List.of(topic), hasty)) {
            GroupMember.settle(first, 1, second, 1);
            TopicPartition taken = second.assignment().iterator().next();
            second.ask(consumer -> {
                consumer.commitSync(Map.of(taken, new OffsetAndMetadata(7)));
                return null;
            });
            second.freeze();
            GroupMember.settle(first, 2);
            world.say("who polls", first.told());
            first.ask(consumer -> {
                consumer.commitSync(Map.of(taken, new OffsetAndMetadata(8)));
                return null;
            });
            second.later(consumer -> {
                world.attempt("a commit of who did not", () -> {
                    consumer.commitSync(Map.of(taken, new OffsetAndMetadata(9)), Duration.ofSeconds(30));
                    return "done";
                });
                return null;
            });
            second.thaw();
            GroupMember.settle(first, 1, second, 1);
            world.say("committed", first.ask(consumer -> consumer.committed(Set.of(taken)).get(taken).offset()));
            world.say("who stopped lost what it had", second.counts().containsKey("lost"));
        }
    }

    static void staticMembers(World world, String protocol) throws Exception {
        String group = "static-" + protocol;
        String topic = world.topic(group, 4);
        Object[] first = {"group.protocol", protocol, "group.instance.id", "one"};
        Object[] second = {"group.protocol", protocol, "group.instance.id", "two"};
        try (GroupMember one = GroupMember.of(world, group, "a", List.of(topic), first)) {
            GroupMember.settle(one, 4);
            List<String> had;
            try (GroupMember two = GroupMember.of(world, group, "b", List.of(topic), second)) {
                GroupMember.settle(one, 2, two, 2);
                had = two.told();
                world.say("two", had);
            }
            world.say("told to one", one.events());
            try (GroupMember again = GroupMember.of(world, group, "c", List.of(topic), second)) {
                GroupMember.settle(one, 2, again, 2);
                world.say("two again", again.told());
                world.say("as before", again.told().equals(had));
            }
            world.say("told to one now", one.events());
        }
    }

    static void fenced(World world, String protocol) throws Exception {
        String group = "fenced-" + protocol;
        String topic = world.topic(group, 2);
        Object[] settings = {"group.protocol", protocol, "group.instance.id", "one"};
        try (GroupMember first = GroupMember.of(world, group, "a", List.of(topic), settings)) {
            GroupMember.settle(first, 2);
            try (GroupMember second = GroupMember.of(world, group, "b", List.of(topic), settings)) {
                GroupMember loser = protocol.equals("classic") ? first : second;
                world.say("who loses", loser.failure());
                GroupMember.settle(loser == first ? second : first, 2);
                world.say("who wins", (loser == first ? second : first).told());
            }
        }
    }

    static void byPattern(World world, String protocol) throws Exception {
        String group = "pattern-" + protocol;
        world.topic(group + "-1", 1);
        world.topic(group + "-x", 1);
        Pattern pattern = Pattern.compile(Pattern.quote(world.prefix + group) + "-\\d");
        Object[] settings = {"group.protocol", protocol, "metadata.max.age.ms", 500};
        try (GroupMember member = GroupMember.subscribing(
                world, group, "a", (consumer, listener) -> consumer.subscribe(pattern, listener), settings)) {
            GroupMember.settle(member, 1);
            world.say("at first", member.told());
            world.topic(group + "-2", 2);
            GroupMember.settle(member, 3);
            world.say("with a new one", member.told());
            World.got(world.admin.deleteTopics(List.of(world.prefix + group + "-1")).all());
            GroupMember.settle(member, 2);
            world.say("without an old one", member.told());
            world.say("subscription", member.ask(consumer -> new TreeSet<>(consumer.subscription())));
        }
    }

    static void topicGrows(World world, String protocol) throws Exception {
        String group = "grows-" + protocol;
        String topic = world.topic(group, 2);
        Object[] settings = {"group.protocol", protocol, "metadata.max.age.ms", 500};
        try (GroupMember first = GroupMember.of(world, group, "a", List.of(topic), settings);
                GroupMember second = GroupMember.of(world, group, "b", List.of(topic), settings)) {
            GroupMember.settle(first, 1, second, 1);
            World.got(world.admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(6))).all());
            GroupMember.settle(first, 3, second, 3);
            world.say("all", new TreeSet<>(both(first, second)));
            world.fill(topic, 5, 3);
            GroupMember reader = first.told().contains(topic + "-5") ? first : second;
            world.say("in the last", reader.values(3));
        }
    }

    private static List<String> both(GroupMember first, GroupMember second) {
        List<String> all = new ArrayList<>(first.told());
        all.addAll(second.told());
        return all;
    }

    static void severalTopics(World world, String protocol) throws Exception {
        String group = "several-" + protocol;
        String left = world.topic(group + "-l", 2);
        String middle = world.topic(group + "-m", 2);
        String right = world.topic(group + "-r", 2);
        Object[] settings = {"group.protocol", protocol};
        try (GroupMember first = GroupMember.of(world, group, "a", List.of(left, middle), settings);
                GroupMember second = GroupMember.of(world, group, "b", List.of(middle, right), settings)) {
            GroupMember.settle(first, 3, second, 3);
            world.say("only of the first", first.told().containsAll(List.of(left + "-0", left + "-1")));
            world.say("only of the second", second.told().containsAll(List.of(right + "-0", right + "-1")));
            world.say("all", new TreeSet<>(both(first, second)));
        }
    }

    static void subscriptionChanges(World world, String protocol) throws Exception {
        String group = "changes-" + protocol;
        String left = world.topic(group + "-l", 2);
        String right = world.topic(group + "-r", 3);
        try (GroupMember member = GroupMember.of(world, group, "a", List.of(left), "group.protocol", protocol)) {
            GroupMember.settle(member, 2);
            for (List<String> topics : List.of(List.of(left, right), List.of(right))) {
                member.ask(consumer -> {
                    consumer.subscribe(topics, member);
                    return null;
                });
                GroupMember.settle(member, topics.size() == 2 ? 5 : 3);
                world.say("of " + topics.size(), member.told());
            }
            world.say("told", member.counts());
            member.closeBy(consumer -> {
                consumer.unsubscribe();
                world.say("of nothing", consumer.assignment());
                return null;
            });
        }
    }

    static void enforced(World world, String protocol) throws Exception {
        String group = "enforced-" + protocol;
        String topic = world.topic(group, 2);
        Object[] settings = {"group.protocol", protocol, "partition.assignment.strategy",
            "org.apache.kafka.clients.consumer.RangeAssignor"};
        try (GroupMember member = GroupMember.of(world, group, "a", List.of(topic), settings)) {
            GroupMember.settle(member, 2);
            member.ask(consumer -> {
                consumer.enforceRebalance("it is asked for");
                return null;
            });
            World.until(() -> member.events().size() == 3);
            world.say("told", member.events());
        }
    }

    /** For scenarios that run alone: the broker restarts, and a group of each protocol goes on where it was. */
    static void outliveRestart(World world, List<String> protocols) throws Exception {
        Map<String, GroupMember> members = new LinkedHashMap<>();
        try {
            for (String protocol : protocols) {
                String topic = world.topic("outlives-" + protocol, 2);
                // However long the restart takes, it must not be the reason why a member is missed, nor why it forgets
                // its topics: from 4.0 on a client that finds nobody begins anew, and may have its group rebalance.
                Object[] patient = protocol.equals("consumer")
                        ? new Object[] {"group.protocol", protocol}
                        : new Object[] {"session.timeout.ms", 600_000, "metadata.recovery.strategy", "none"};
                GroupMember member = GroupMember.of(world, "outlives-" + protocol, "a", List.of(topic), patient);
                members.put(protocol, member);
                GroupMember.settle(member, 2);
                member.ask(consumer -> {
                    consumer.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(7, "before")));
                    return null;
                });
            }
            world.restartBroker();
            for (String protocol : protocols) {
                goOn(world, protocol, members.get(protocol));
            }
        } finally {
            for (GroupMember member : members.values()) {
                member.close();
            }
        }
    }

    private static void goOn(World world, String protocol, GroupMember first) throws Exception {
        String topic = world.prefix + "outlives-" + protocol;
        TopicPartition partition = new TopicPartition(topic, 0);
        world.fill(topic, 0, 3);
        world.say("read", first.values(3));
        world.say("told", first.events());
        world.say("committed", first.ask(consumer -> consumer.committed(Set.of(partition)).get(partition)));
        try (GroupMember second = GroupMember.of(
                world, "outlives-" + protocol, "b", List.of(topic), "group.protocol", protocol)) {
            GroupMember.settle(first, 1, second, 1);
            world.say("shared", new TreeSet<>(both(first, second)));
        }
    }

    private static void misfits(World world) throws Exception {
        String group = "misfits";
        String topic = world.topic(group, 2);
        try (GroupMember first = GroupMember.of(world, group, "a", List.of(topic),
                "partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor")) {
            GroupMember.settle(first, 2);
            Object[][] wrong = {
                {"partition.assignment.strategy", "org.apache.kafka.clients.consumer.RoundRobinAssignor"},
                {"session.timeout.ms", 500},
                {"session.timeout.ms", 1_900_000},
            };
            for (Object[] settings : wrong) {
                Object[] all = Arrays.copyOf(settings, settings.length + 2);
                all[settings.length] = "heartbeat.interval.ms";
                all[settings.length + 1] = 100;
                try (GroupMember second = GroupMember.of(world, group, "b", List.of(topic), all)) {
                    world.say(settings[0] + "=" + settings[1], second.failure());
                }
            }
            world.say("told to the first", first.events());
            world.say("committed by nobody", standaloneCommit(world, group, topic));
        }
        world.say("committed when all are gone", standaloneCommit(world, group, topic));
        try (Consumer<String, String> consumer = world.consumer()) {
            world.attempt("without a group", () -> {
                consumer.subscribe(List.of(topic));
                return "subscribed";
            });
        }
        world.attempt("with an empty name", () -> {
            try (Consumer<String, String> consumer = world.consumer("group.id", "")) {
                consumer.subscribe(List.of(topic));
                return consumer.poll(Duration.ofSeconds(5)).count();
            }
        });
    }

    /** A consumer that assigns itself what a group may be reading. */
    static String standaloneCommit(World world, String group, String topic) throws InterruptedException {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Consumer<String, String> consumer = world.consumer("group.id", world.prefix + group)) {
            consumer.assign(List.of(partition));
            try {
                consumer.commitSync(Map.of(partition, new OffsetAndMetadata(5, "alone")), Duration.ofSeconds(30));
                return "committed " + consumer.committed(Set.of(partition)).get(partition).metadata();
            } catch (Exception error) {
                return World.errorOf(error);
            }
        }
    }
}
