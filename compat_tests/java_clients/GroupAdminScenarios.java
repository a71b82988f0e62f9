import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ConsumerGroupListing;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListConsumerGroupsOptions;
import org.apache.kafka.clients.admin.MemberAssignment;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ConsumerGroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;

/** What an administrator asks of groups, and does to them, with members and without. */
@SuppressWarnings("deprecation")
final class GroupAdminScenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        ALL.put("describe_groups", world -> describe(world, "classic"));
        ALL.put("list_consumer_groups", world -> list(world, "classic"));
        ALL.put("alter_group_offsets", world -> alterOffsets(world, "classic"));
        ALL.put("delete_groups", world -> deleteGroups(world, "classic"));
        ALL.put("remove_members", world -> removeMembers(world, "classic"));
        ALL.put("offsets_of_several_groups", GroupAdminScenarios::offsetsOfSeveral);
    }

    static void describe(World world, String protocol) throws Exception {
        String group = "described-" + protocol;
        String topic = world.topic(group, 4);
        List<String> groups = List.of(world.prefix + group, world.prefix + "nobody", "");
        Object[] one = {"group.protocol", protocol, "group.instance.id", "one"};
        Object[] two = {"group.protocol", protocol, "group.instance.id", "two"};
        try (GroupMember first = GroupMember.of(world, group, "a", List.of(topic), one);
                GroupMember second = GroupMember.of(world, group, "b", List.of(topic), two)) {
            GroupMember.settle(first, 2, second, 2);
            World.until(() -> stateOf(world, group) == ConsumerGroupState.STABLE);
            tell(world, "with members", groups);
            if (protocol.equals("classic")) {
                first.closeBy(consumer -> null);
                World.got(world.admin.removeMembersFromConsumerGroup(world.prefix + group,
                        new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("one")))).all());
                GroupMember.settle(second, 4);
                World.until(() -> stateOf(world, group) == ConsumerGroupState.STABLE);
                tell(world, "with one", groups);
            }
        }
    }

    static ConsumerGroupState stateOf(World world, String group) throws Exception {
        String name = world.prefix + group;
        return World.got(world.admin.describeConsumerGroups(List.of(name)).all()).get(name).state();
    }

    static void tellAssignor(World world, String group) throws Exception {
        String name = world.prefix + group;
        world.say("assignor", World.got(world.admin.describeConsumerGroups(List.of(name)).all()).get(name).partitionAssignor());
    }

    static void tell(World world, String when, List<String> groups) {
        DescribeConsumerGroupsOptions options = new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true);
        var described = world.admin.describeConsumerGroups(groups, options).describedGroups();
        for (String group : groups) {
            world.attempt(when + ", " + group, () -> told(World.got(described.get(group))));
        }
    }

    private static String told(ConsumerGroupDescription group) {
        Map<String, String> members = new TreeMap<>();
        for (MemberDescription member : group.members()) {
            members.put(member.clientId() + " " + member.groupInstanceId(), member.host() + " "
                    + assigned(group, member.assignment()) + member.targetAssignment().map(target -> assigned(group, target)));
        }
        return group.groupId() + " " + group.isSimpleConsumerGroup() + " " + group.partitionAssignor() + " " + group.type()
                + " " + group.state() + " " + Reading.withoutPorts(group.coordinator()) + " "
                + group.authorizedOperations().stream().sorted().toList() + " " + members;
    }

    /** Who of two gets which half depends, in the consumer protocol, on ids that consumers make up. */
    private static Object assigned(ConsumerGroupDescription group, MemberAssignment assignment) {
        List<String> partitions = GroupMember.sorted(assignment.topicPartitions());
        return group.type() == GroupType.CONSUMER ? partitions.size() : partitions;
    }

    static void list(World world, String protocol) throws Exception {
        String group = "listed-" + protocol;
        String topic = world.topic(group, 1);
        GroupScenarios.standaloneCommit(world, group + "-simple", topic);
        try (GroupMember emptied = GroupMember.of(world, group + "-empty", "a", List.of(topic), "group.protocol", protocol)) {
            GroupMember.settle(emptied, 1);
        }
        try (GroupMember member = GroupMember.of(world, group + "-full", "a", List.of(topic), "group.protocol", protocol)) {
            GroupMember.settle(member, 1);
            World.until(() -> stateOf(world, group + "-full") == ConsumerGroupState.STABLE);
            tellListed(world, "all", group, new ListConsumerGroupsOptions());
            for (ConsumerGroupState state : List.of(ConsumerGroupState.STABLE, ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)) {
                tellListed(world, "in " + state, group, new ListConsumerGroupsOptions().inStates(Set.of(state)));
            }
            for (GroupType type : List.of(GroupType.CLASSIC, GroupType.CONSUMER)) {
                tellListed(world, "of " + type, group, new ListConsumerGroupsOptions().withTypes(Set.of(type)));
            }
            tellListed(world, "of both kinds", group, new ListConsumerGroupsOptions()
                    .inStates(Set.of(ConsumerGroupState.STABLE)).withTypes(Set.of(GroupType.CLASSIC)));
        }
    }

    private static void tellListed(World world, String what, String group, ListConsumerGroupsOptions options) {
        world.attempt(what, () -> World.got(world.admin.listConsumerGroups(options).all()).stream()
                .filter(found -> found.groupId().startsWith(world.prefix + group))
                .map(ConsumerGroupListing::toString).sorted().toList());
    }

    static void alterOffsets(World world, String protocol) throws Exception {
        String group = "altered-" + protocol;
        String topic = world.topic(group, 2);
        String other = world.topic(group + "-other", 1);
        TopicPartition first = new TopicPartition(topic, 0);
        TopicPartition second = new TopicPartition(topic, 1);
        TopicPartition unread = new TopicPartition(other, 0);
        String name = world.prefix + group;
        alter(world, "of nobody", name, Map.of(first, new OffsetAndMetadata(3, "by hand"), unread, new OffsetAndMetadata(1)));
        alter(world, "of no such partition", name, Map.of(new TopicPartition(topic, 9), new OffsetAndMetadata(3)));
        tellOffsets(world, "at first", name);
        try (GroupMember member = GroupMember.of(world, group, "a", List.of(topic), "group.protocol", protocol)) {
            GroupMember.settle(member, 2);
            alter(world, "of a group with members", name, Map.of(second, new OffsetAndMetadata(3)));
            world.sayEach("delete what is read", offsetsDeleted(world, name, first, second));
            world.sayEach("delete what is not", offsetsDeleted(world, name, unread));
            tellOffsets(world, "with members", name);
        }
        world.sayEach("delete", offsetsDeleted(world, name, first, second, new TopicPartition(topic, 9)));
        tellOffsets(world, "at last", name);
        world.sayEach("delete of nobody", offsetsDeleted(world, world.prefix + "nobody", first));
    }

    private static void alter(World world, String what, String group, Map<TopicPartition, OffsetAndMetadata> offsets) {
        world.attempt("alter " + what, () -> World.got(world.admin.alterConsumerGroupOffsets(group, offsets).all()));
    }

    private static Map<TopicPartition, KafkaFuture<Void>> offsetsDeleted(
            World world, String group, TopicPartition... partitions) {
        var result = world.admin.deleteConsumerGroupOffsets(group, Set.of(partitions));
        Map<TopicPartition, KafkaFuture<Void>> found = new LinkedHashMap<>();
        for (TopicPartition partition : partitions) {
            found.put(partition, result.partitionResult(partition));
        }
        return found;
    }

    private static void tellOffsets(World world, String when, String group) {
        world.attempt(when, () -> sorted(World.got(world.admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata())));
    }

    private static Map<String, String> sorted(Map<TopicPartition, OffsetAndMetadata> offsets) {
        Map<String, String> sorted = new TreeMap<>();
        offsets.forEach((partition, offset) -> sorted.put(partition.toString(), String.valueOf(offset)));
        return sorted;
    }

    static void deleteGroups(World world, String protocol) throws Exception {
        String group = "deleted-" + protocol;
        String topic = world.topic(group, 1);
        String name = world.prefix + group;
        List<String> groups = List.of(name, world.prefix + "nobody");
        try (GroupMember member = GroupMember.of(world, group, "a", List.of(topic), "group.protocol", protocol)) {
            GroupMember.settle(member, 1);
            member.ask(consumer -> {
                consumer.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(3)));
                return null;
            });
            world.sayEach("with a member", world.admin.deleteConsumerGroups(groups).deletedGroups());
        }
        world.sayEach("without", world.admin.deleteConsumerGroups(groups).deletedGroups());
        world.sayEach("again", world.admin.deleteConsumerGroups(groups).deletedGroups());
        tellOffsets(world, "offsets", name);
        world.attempt("a name that is empty", () -> World.got(world.admin.deleteConsumerGroups(List.of("")).all()));
        tell(world, "at last", List.of(name));
    }

    static void removeMembers(World world, String protocol) throws Exception {
        String group = "removed-" + protocol;
        String topic = world.topic(group, 2);
        Object[] settings = {"group.protocol", protocol, "group.instance.id", "one"};
        GroupMember gone = GroupMember.of(world, group, "a", List.of(topic), settings);
        GroupMember.settle(gone, 2);
        gone.close(); // a static member stays when it closes, and others wait for it
        try (GroupMember second = GroupMember.of(world, group, "b", List.of(topic), "group.protocol", protocol)) {
            World.until(() -> memberCount(world, group) == 2);
            world.attempt("a stranger", () -> remove(world, group, "stranger"));
            world.attempt("one that is here", () -> remove(world, group, "one"));
            world.attempt("one that is not", () -> remove(world, group, "one"));
            GroupMember.settle(second, 2);
            world.say("who is left", second.told());
        }
        GroupMember left = GroupMember.of(world, group, "c", List.of(topic), settings);
        GroupMember.settle(left, 2);
        left.close();
        var everybody = new RemoveMembersFromConsumerGroupOptions();
        everybody.reason("all have to go");
        world.attempt("all", () -> World.got(world.admin.removeMembersFromConsumerGroup(world.prefix + group, everybody).all()));
        world.attempt("state", () -> stateOf(world, group));
        world.attempt("all of nobody", () -> World.got(
                world.admin.removeMembersFromConsumerGroup(world.prefix + "nobody", everybody).all()));
    }

    private static int memberCount(World world, String group) throws Exception {
        String name = world.prefix + group;
        return World.got(world.admin.describeConsumerGroups(List.of(name)).all()).get(name).members().size();
    }

    private static Object remove(World world, String group, String instance) throws Exception {
        MemberToRemove member = new MemberToRemove(instance);
        return World.got(world.admin.removeMembersFromConsumerGroup(world.prefix + group,
                new RemoveMembersFromConsumerGroupOptions(Set.of(member))).memberResult(member));
    }

    private static void offsetsOfSeveral(World world) throws Exception {
        String topic = world.topic("of-several", 2);
        Map<String, ListConsumerGroupOffsetsSpec> asked = new LinkedHashMap<>();
        for (int number = 0; number < 3; number++) {
            String name = world.prefix + "of-several-" + number;
            Map<TopicPartition, OffsetAndMetadata> offsets = new LinkedHashMap<>();
            for (int partition = 0; partition < number; partition++) {
                offsets.put(new TopicPartition(topic, partition), new OffsetAndMetadata(10 * number + partition, "by " + number));
            }
            alter(world, "of " + number, name, offsets);
            asked.put(name, new ListConsumerGroupOffsetsSpec());
        }
        asked.put(world.prefix + "of-several-2", new ListConsumerGroupOffsetsSpec()
                .topicPartitions(List.of(new TopicPartition(topic, 1), new TopicPartition(topic, 8))));
        asked.put("", new ListConsumerGroupOffsetsSpec());
        var result = world.admin.listConsumerGroupOffsets(asked);
        for (String name : asked.keySet()) {
            world.attempt("of '" + name + "'", () -> sorted(World.got(result.partitionsToOffsetAndMetadata(name))));
        }
    }
}
