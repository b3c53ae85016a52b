package io.holdfast.workbench.preset;

import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.Recipe.Part;

/** Recipes made smaller, and drawn by another seed. */
final class Recipes {
    private Recipes() {}

    /** Returns the recipe with at most so many requests in each measured part. */
    static Recipe atMost(int most, Recipe recipe) {
        return recipe.withParts(recipe.parts().stream()
                .map(part -> part.measured() && part.requests() > most ? with(part, most) : part)
                .toList());
    }

    /** Loads of one seed that differ in their names have no text in common. */
    static Recipe seeded(long seed, Recipe recipe) {
        return recipe.withSeed(seed ^ ((long) recipe.name().hashCode() << Integer.SIZE));
    }

    /** Returns the part with so many requests. */
    static Part with(Part part, int requests) {
        return new Part(
                part.name(),
                part.measured(),
                requests,
                part.prefix(),
                part.own(),
                part.answer(),
                part.arrivals(),
                part.repeats(),
                part.messages(),
                part.flush(),
                part.pause());
    }
}
