package io.holdfast.app;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * What embedders may rely on, one line for each public type and member of it.
 *
 * <p>A public type belongs to it that lives in a package that is for embedders, and whatever a signature of such a type names,
 * and so on. All else is public for the sake of the modules above, and may change at any time.
 */
final class ApiListing {
    private static final Set<String> INHERITED = Set.of("equals", "hashCode", "toString");

    private final ClassLoader loader;
    private final Set<Class<?>> types = new HashSet<>();
    private final Deque<Class<?>> open = new ArrayDeque<>();

    private ApiListing(ClassLoader loader) {
        this.loader = loader;
    }

    /**
     * Lists the API that begins with the public types of some packages.
     *
     * @param anchors a class of each place where classes are looked for
     * @param packages those that are for embedders
     * @return by package, a line each
     */
    static Map<String, List<String>> of(List<Class<?>> anchors, Set<String> packages) {
        ApiListing listing = new ApiListing(ApiListing.class.getClassLoader());
        anchors.forEach(anchor -> listing.begin(anchor, packages));
        listing.close();
        Map<String, List<String>> lines = new TreeMap<>();
        listing.types.stream()
                .sorted(Comparator.comparing(Class::getName))
                .forEach(type -> lines.computeIfAbsent(type.getPackageName(), name -> new ArrayList<>())
                        .addAll(lines(type)));
        return lines;
    }

    private void begin(Class<?> anchor, Set<String> packages) {
        URI place = URI.create(
                anchor.getProtectionDomain().getCodeSource().getLocation().toString());
        try {
            Path path = Path.of(place);
            if (Files.isDirectory(path)) {
                begin(path, packages);
            } else {
                try (FileSystem jar = FileSystems.newFileSystem(path)) {
                    begin(jar.getPath("/"), packages);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void begin(Path root, Set<String> packages) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            files.map(file -> root.relativize(file).toString())
                    .filter(file -> file.endsWith(".class") && !file.endsWith("-info.class"))
                    .map(file -> file.substring(0, file.length() - ".class".length())
                            .replace('/', '.')
                            .replace('\\', '.'))
                    .filter(name -> packages.contains(name.substring(0, name.lastIndexOf('.'))))
                    .forEach(name -> reach(load(name)));
        }
    }

    private Class<?> load(String name) {
        try {
            return Class.forName(name, false, loader);
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Takes what every type names that was taken. */
    private void close() {
        while (!open.isEmpty()) {
            Class<?> type = open.remove();
            reach(type.getGenericSuperclass());
            Arrays.stream(type.getGenericInterfaces()).forEach(this::reach);
            Arrays.stream(type.getTypeParameters()).forEach(this::reach);
            Arrays.stream(type.getDeclaredClasses()).forEach(this::reach);
            if (type.isSealed()) {
                Arrays.stream(type.getPermittedSubclasses()).forEach(this::reach);
            }
            fields(type).forEach(field -> reach(field.getGenericType()));
            executables(type).forEach(member -> {
                Arrays.stream(member.getGenericParameterTypes()).forEach(this::reach);
                Arrays.stream(member.getGenericExceptionTypes()).forEach(this::reach);
                if (member instanceof Method method) {
                    reach(method.getGenericReturnType());
                }
            });
        }
    }

    private void reach(Type type) {
        switch (type) {
            case null -> {}
            case Class<?> plain when plain.isArray() -> reach(plain.getComponentType());
            case Class<?> plain -> {
                if (isOpenToAll(plain) && types.add(plain)) {
                    open.add(plain);
                }
            }
            case ParameterizedType full -> {
                reach(full.getRawType());
                Arrays.stream(full.getActualTypeArguments()).forEach(this::reach);
            }
            case GenericArrayType array -> reach(array.getGenericComponentType());
            case WildcardType any ->
                Stream.of(any.getUpperBounds(), any.getLowerBounds())
                        .flatMap(Arrays::stream)
                        .forEach(this::reach);
            case TypeVariable<?> variable -> {
                if (!(variable.getGenericDeclaration() instanceof Class<?>)) {
                    Arrays.stream(variable.getBounds()).forEach(this::reach);
                }
            }
            default -> throw new IllegalStateException("No kind of type that is known: " + type);
        }
    }

    private static boolean isOpenToAll(Class<?> type) {
        return type.getName().startsWith("io.holdfast.")
                && Modifier.isPublic(type.getModifiers())
                && (type.getEnclosingClass() == null || isOpenToAll(type.getEnclosingClass()));
    }

    private static List<String> lines(Class<?> type) {
        Set<String> members = new TreeSet<>();
        fields(type).forEach(field -> members.add("    " + shortened(field.toGenericString(), type)));
        executables(type).forEach(member -> members.add("    " + shortened(member.toGenericString(), type)));
        List<String> lines = new ArrayList<>();
        lines.add(head(type));
        lines.addAll(members);
        return lines;
    }

    private static String head(Class<?> type) {
        StringBuilder head = new StringBuilder(type.toGenericString());
        Type above = type.getGenericSuperclass();
        if (above != null && above != Object.class && !type.isEnum() && !type.isRecord()) {
            head.append(" extends ").append(above.getTypeName());
        }
        List<String> interfaces = Arrays.stream(type.getGenericInterfaces())
                .map(Type::getTypeName)
                .sorted()
                .toList();
        if (!interfaces.isEmpty() && !type.isAnnotation()) {
            head.append(type.isInterface() ? " extends " : " implements ").append(String.join(", ", interfaces));
        }
        return head.toString();
    }

    /** Members are told without the name of the class that they stand under. */
    private static String shortened(String member, Class<?> type) {
        return member.replace("synchronized ", "")
                .replace(type.getTypeName() + ".", "")
                .replace(type.getName() + "(", "new(");
    }

    private static Stream<Field> fields(Class<?> type) {
        return Arrays.stream(type.getDeclaredFields())
                .filter(field -> !field.isSynthetic() && shown(field.getModifiers(), type));
    }

    private static Stream<Executable> executables(Class<?> type) {
        Stream<Constructor<?>> constructors = Arrays.stream(type.getDeclaredConstructors())
                .filter(constructor -> !constructor.isSynthetic() && shown(constructor.getModifiers(), type));
        return Stream.concat(constructors, methods(type));
    }

    /** Its own, and those that it has of a class that nobody else may name. */
    private static Stream<Method> methods(Class<?> type) {
        Stream<Method> own = Arrays.stream(type.getDeclaredMethods());
        Class<?> above = type.getSuperclass();
        Stream<Method> hidden = above != null && above.getName().startsWith("io.holdfast.") && !isOpenToAll(above)
                ? methods(above)
                : Stream.empty();
        return Stream.concat(own, hidden)
                .filter(method -> !method.isSynthetic() && !method.isBridge())
                .filter(method -> shown(method.getModifiers(), type))
                .filter(method -> !INHERITED.contains(method.getName()));
    }

    private static boolean shown(int modifiers, Class<?> type) {
        return Modifier.isPublic(modifiers)
                || (Modifier.isProtected(modifiers) && !Modifier.isFinal(type.getModifiers()));
    }
}
