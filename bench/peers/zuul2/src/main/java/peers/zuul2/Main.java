package peers.zuul2;

public final class Main {
    public static void main(String[] words) {
    }
}
