import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** The consumer protocol (KIP-848): all that groups of the classic protocol do, what they cannot, and changing over. */
final class ConsumerProtocolScenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        for (String assignor : List.of("uniform", "range")) {
            ALL.put("remote_assignor_" + assignor, world -> remoteAssignor(world, assignor));
        }
        ALL.put("member_is_killed_consumer", ConsumerProtocolScenarios::killed);
        ALL.put("member_stops_polling_consumer", world -> GroupScenarios.stopsPolling(world, "consumer"));
        ALL.put("static_members_consumer", world -> GroupScenarios.staticMembers(world, "consumer"));
        ALL.put("static_member_is_fenced_consumer", world -> GroupScenarios.fenced(world, "consumer"));
        ALL.put("topics_by_pattern_consumer", world -> GroupScenarios.byPattern(world, "consumer"));
        ALL.put("topics_by_expression", ConsumerProtocolScenarios::byExpression);
        ALL.put("expression_that_is_none", ConsumerProtocolScenarios::wrongExpression);
        ALL.put("topic_grows_consumer", world -> GroupScenarios.topicGrows(world, "consumer"));
        ALL.put("members_of_several_topics_consumer", world -> GroupScenarios.severalTopics(world, "consumer"));
        ALL.put("subscription_changes_consumer", world -> GroupScenarios.subscriptionChanges(world, "consumer"));
        ALL.put("no_such_assignor", ConsumerProtocolScenarios::wrongAssignor);
        ALL.put("commit_and_resume_consumer", world -> GroupOffsetScenarios.commitAndResume(world, "consumer"));
        ALL.put("commits_of_all_kinds_consumer", world -> GroupOffsetScenarios.commits(world, "consumer"));
        ALL.put("commits_that_cannot_be_consumer", world -> GroupOffsetScenarios.wrongCommits(world, "consumer"));
        ALL.put("automatic_commits_consumer", world -> GroupOffsetScenarios.automatic(world, "consumer"));
        ALL.put("seek_in_a_group_consumer", world -> GroupOffsetScenarios.seek(world, "consumer"));
        ALL.put("lag_consumer", world -> GroupOffsetScenarios.lag(world, "consumer"));
        ALL.put("nothing_committed_consumer", world -> GroupOffsetScenarios.nothingCommitted(world, "consumer"));
        ALL.put("describe_groups_consumer", world -> GroupAdminScenarios.describe(world, "consumer"));
        ALL.put("list_consumer_groups_consumer", world -> GroupAdminScenarios.list(world, "consumer"));
        ALL.put("alter_group_offsets_consumer", world -> GroupAdminScenarios.alterOffsets(world, "consumer"));
        ALL.put("delete_groups_consumer", world -> GroupAdminScenarios.deleteGroups(world, "consumer"));
        ALL.put("remove_members_consumer", world -> GroupAdminScenarios.removeMembers(world, "consumer"));
        ALL.put("group_changes_its_protocol", ConsumerProtocolScenarios::migration);
        ALL.put("group_is_empty_between_protocols", ConsumerProtocolScenarios::emptyBetween);
        ALL.put("list_and_describe_all_kinds", ConsumerProtocolScenarios::allKinds);
        ALL.put("member_remains_when_it_closes", ConsumerProtocolScenarios::remains);
    }

    private static void remoteAssignor(World world, String assignor) throws Exception {
        String group = "remote-" + assignor;
        List<String> topics = List.of(world.topic(group + "-x", 3), world.topic(group + "-y", 3));
        Object[] settings = {"group.protocol", "consumer", "group.remote.assignor", assignor};
        try (GroupMember first = GroupMember.of(world, group, "a", topics, settings)) {
            GroupMember.settle(first, 6);
            world.say("alone", first.counts());
            try (GroupMember second = GroupMember.of(world, group, "b", topics, settings)) {
                GroupMember.settleAnyhow(6, first, second);
                // Who is first is a matter of ids that consumers make up.
                world.say("sizes", new TreeSet<>(List.of(first.assignment().size(), second.assignment().size())));
                world.say("only what moved was taken", first.counts().get("revoked") == second.assignment().size());
                GroupAdminScenarios.tellAssignor(world, group);
            }
            GroupMember.settle(first, 6);
            world.say("who stayed has all", first.told());
        }
    }

    /** The session timeout is the group's here, and each member's own in the classic protocol. */
    private static void killed(World world) throws Exception {
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, world.prefix + "killed-consumer");
        ConfigEntry entry = new ConfigEntry("consumer.session.timeout.ms", String.valueOf(GroupScenarios.SESSION_TIMEOUT_MS));
        AlterConfigOp set = new AlterConfigOp(entry, AlterConfigOp.OpType.SET);
        World.got(world.admin.incrementalAlterConfigs(Map.of(group, List.of(set))).all());
        GroupScenarios.killed(world, "consumer");
    }

    private static void byExpression(World world) throws Exception {
        String group = "expression";
        world.topic(group + "-1", 1);
        world.topic(group + "-x", 1);
        SubscriptionPattern pattern = new SubscriptionPattern(world.prefix + group + "-[0-9]+");
        try (GroupMember member = GroupMember.subscribing(world, group, "a",
                (consumer, listener) -> consumer.subscribe(pattern, listener), "group.protocol", "consumer")) {
            GroupMember.settle(member, 1);
            world.say("at first", member.told());
            world.topic(group + "-22", 2);
            GroupMember.settle(member, 3);
            world.say("with a new one", member.told());
        }
    }

    private static void wrongExpression(World world) throws Exception {
        for (String pattern : List.of("(", "a(?=b)")) {
            try (GroupMember member = GroupMember.subscribing(world, "no-expression", "a",
                    (consumer, listener) -> consumer.subscribe(new SubscriptionPattern(pattern), listener), "group.protocol", "consumer")) {
                world.say(pattern, member.failure());
            }
        }
    }

    private static void wrongAssignor(World world) throws Exception {
        String topic = world.topic("no-assignor", 1);
        try (GroupMember member = GroupMember.of(world, "no-assignor", "a", List.of(topic),
                "group.protocol", "consumer", "group.remote.assignor", "sideways")) {
            world.say("of the member", member.failure());
        }
    }

    /** Rolling: members go and come back one by one, first to the new protocol, then to the old one. */
    private static void migration(World world) throws Exception {
        String group = "migration";
        String topic = world.topic(group, 6);
        TopicPartition partition = new TopicPartition(topic, 0);
        Object[] classic = {"group.protocol", "classic"};
        Object[] consumer = {"group.protocol", "consumer"};
        GroupMember a = GroupMember.of(world, group, "a", List.of(topic), classic);
        GroupMember b = GroupMember.of(world, group, "b", List.of(topic), classic);
        try {
            GroupMember.settle(a, 3, b, 3);
            tellKind(world, "classic", group);
            a.ask(asked -> {
                asked.commitSync(Map.of(partition, new OffsetAndMetadata(5)));
                return null;
            });
            a.close();
            GroupMember.settle(b, 6);
            a = GroupMember.of(world, group, "c", List.of(topic), consumer);
            GroupMember.settle(a, 3, b, 3);
            tellKind(world, "mixed", group);
            b.close();
            GroupMember.settle(a, 6);
            b = GroupMember.of(world, group, "d", List.of(topic), consumer);
            GroupMember.settle(a, 3, b, 3);
            tellKind(world, "consumer", group);
            a.close();
            GroupMember.settle(b, 6);
            a = GroupMember.of(world, group, "e", List.of(topic), classic);
            GroupMember.settle(a, 3, b, 3);
            tellKind(world, "mixed again", group);
            b.close();
            GroupMember.settle(a, 6);
            tellKind(world, "classic again", group);
            world.say("committed", a.ask(asked -> asked.committed(Set.of(partition)).get(partition).offset()));
        } finally {
            a.close();
            b.close();
        }
    }

    private static void emptyBetween(World world) throws Exception {
        String group = "between";
        String topic = world.topic(group, 2);
        TopicPartition partition = new TopicPartition(topic, 0);
        for (String protocol : List.of("classic", "consumer", "classic")) {
            try (GroupMember member = GroupMember.of(world, group, "a", List.of(topic), "group.protocol", protocol)) {
                GroupMember.settle(member, 2);
                tellKind(world, protocol, group);
                world.say("committed", member.ask(asked -> {
                    OffsetAndMetadata before = asked.committed(Set.of(partition)).get(partition);
                    asked.commitSync(Map.of(partition, new OffsetAndMetadata(before == null ? 1 : before.offset() + 1)));
                    return before;
                }));
            }
        }
    }

    private static void tellKind(World world, String when, String group) throws Exception {
        String name = world.prefix + group;
        World.until(() -> World.got(world.admin.describeConsumerGroups(List.of(name)).all()).get(name).groupState() == GroupState.STABLE);
        var described = World.got(world.admin.describeConsumerGroups(List.of(name)).all()).get(name);
        world.say(when, described.type() + " " + described.groupState() + " " + described.partitionAssignor() + " "
                + described.members().stream().map(member -> member.clientId() + " " + member.upgraded()).sorted().toList());
    }

    private static void allKinds(World world) throws Exception {
        String group = "kinds";
        String topic = world.topic(group, 1);
        GroupScenarios.standaloneCommit(world, group + "-simple", topic);
        try (GroupMember first = GroupMember.of(world, group + "-classic", "a", List.of(topic));
                GroupMember second = GroupMember.of(world, group + "-consumer", "b", List.of(topic), "group.protocol", "consumer")) {
            GroupMember.settle(first, 1);
            GroupMember.settle(second, 1);
            tellKind(world, "classic", group + "-classic");
            tellKind(world, "consumer", group + "-consumer");
            tellListed(world, "all", new ListGroupsOptions());
            tellListed(world, "of consumers", ListGroupsOptions.forConsumerGroups());
            tellListed(world, "of streams", ListGroupsOptions.forStreamsGroups());
            tellListed(world, "of nobody's protocol", new ListGroupsOptions().withProtocolTypes(Set.of("connect")));
            for (GroupType type : List.of(GroupType.CLASSIC, GroupType.CONSUMER, GroupType.SHARE)) {
                tellListed(world, "of " + type, new ListGroupsOptions().withTypes(Set.of(type)));
            }
            for (GroupState state : List.of(GroupState.STABLE, GroupState.EMPTY, GroupState.ASSIGNING)) {
                tellListed(world, "in " + state, new ListGroupsOptions().inGroupStates(Set.of(state)));
            }
            for (String kind : List.of("simple", "classic", "consumer", "unknown")) {
                String name = world.prefix + group + "-" + kind;
                world.attempt("as classic, " + kind, () -> {
                    var described = World.got(world.admin.describeClassicGroups(List.of(name)).all()).get(name);
                    return described.protocol() + " " + described.protocolData() + " " + described.state() + " " + described.members().size();
                });
            }
        }
    }

    private static void tellListed(World world, String what, ListGroupsOptions options) {
        world.attempt(what, () -> World.got(world.admin.listGroups(options).all()).stream()
                .filter(found -> found.groupId().startsWith(world.prefix + "kinds"))
                .map(GroupListing::toString).sorted().toList());
    }

    /** KIP-1092: whoever closes says whether it leaves. */
    private static void remains(World world) throws Exception {
        for (String protocol : List.of("classic", "consumer")) {
            String group = "remains-" + protocol;
            String topic = world.topic(group, 2);
            GroupMember dynamic = GroupMember.of(world, group, "a", List.of(topic), "group.protocol", protocol);
            GroupMember.settle(dynamic, 2);
            dynamic.closeBy(consumer -> {
                consumer.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.REMAIN_IN_GROUP));
                return null;
            });
            tellMembers(world, protocol + ", not left", group);
            Object[] fixed = {"group.protocol", protocol, "group.instance.id", "one"};
            GroupMember leaving = GroupMember.of(world, group + "-static", "b", List.of(topic), fixed);
            GroupMember.settle(leaving, 2);
            leaving.closeBy(consumer -> {
                consumer.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
                return null;
            });
            tellMembers(world, protocol + ", left though static", group + "-static");
        }
    }

    private static void tellMembers(World world, String what, String group) {
        String name = world.prefix + group;
        world.attempt(what, () -> World.got(world.admin.describeConsumerGroups(List.of(name)).all()).get(name).members().size());
    }
}
